"""The journal: durable, readable at any time, and never in the way of the run."""

import json
import math
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import premortem
from premortem.errors import JournalError
from premortem.events import OptimizerBuilt, Seeded, Site, StepStats
from premortem.files.plain import dumps, plain
from premortem.findings import FAMILIES, Certainty, Finding, Severity, Where
from premortem.journal import Journal, Run, claim_folder, default_folder, later, never_fatal, schema, write
from tests import without_locks

SRC = str(Path(premortem.__file__).parents[1])
ENVIRONMENT = {**os.environ, "PYTHONPATH": SRC}
FINDING = Finding(
    code="OW101",
    name="parameter-without-optimizer",
    family="optimizer-ownership",
    severity=Severity.ERROR,
    certainty=Certainty.MEASURED,
    step=1,
    message="`head.weight` gets a gradient and no optimizer holds it",
    where=Where("train.py", 41, "head", "head.weight"),
)


@pytest.fixture
def problems():
    return []


@pytest.fixture
def journal(tmp_path, problems):
    journal = Journal.open(tmp_path / "run", meta={"argv": ["train.py"]}, on_problem=problems.append)
    yield journal
    journal.close()


@pytest.fixture
def read():
    """Opens runs, and closes them when the test is over."""
    runs = []

    def opened(path):
        runs.append(Run(path))
        return runs[-1]

    yield opened
    for run in runs:
        run.close()


def stats(step, loss=1.0, grad_norm=2.0, optimizer=1):
    return StepStats(step=step, optimizer=optimizer, loss=loss, grad_norm=grad_norm, worst=None, lr=0.1)


# --- writing and reading ---------------------------------------------------------------------


def test_everything_written_is_read_back(journal, read):
    built = OptimizerBuilt(step=0, at=Site("train.py", 3), optimizer=1, kind="SGD", groups=())
    journal.step(stats(1), 12.5)
    journal.event(built)
    journal.fault("clipping", ValueError("no such thing"))
    journal.note(reason="finished")
    journal.finding(FINDING)
    journal.close()

    run = read(journal.path.parent)
    assert run.meta == {"argv": ["train.py"], "reason": "finished"}
    assert run.findings() == [FINDING]
    assert run.steps() == [(1, 1, 12.5, 1.0, 2.0, 0.1)]
    ((event,), (fault,)) = run.events("OptimizerBuilt"), run.faults()
    assert (event["event"], event["at"]) == ("OptimizerBuilt", ["train.py", 3, ""])
    assert (fault.unit, fault.error) == ("clipping", "ValueError: no such thing\n")


def test_nan_is_not_mistaken_for_not_measured(journal, read):
    for step, loss in enumerate([math.nan, math.inf, -math.inf, None], start=1):
        journal.step(stats(step, loss=loss), 0.0)
    journal.close()
    first, *others = [step.loss for step in read(journal.path).steps()]
    assert math.isnan(first)
    assert others == [math.inf, -math.inf, None]


def test_a_finding_is_on_disk_when_the_call_returns(journal, read):
    journal.finding(FINDING)
    assert read(journal.path).findings() == [FINDING]


def test_a_journal_is_readable_while_it_is_written(journal, read):
    run = read(journal.path)
    done = threading.Event()

    def train():
        for step in range(1, 3001):
            journal.step(stats(step), 0.0)
            if step % 300 == 0:
                journal.finding(FINDING)
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    counts = [(len(run.findings()), len(run.steps()))]
    while not done.is_set():
        counts.append((len(run.findings()), len(run.steps())))
    thread.join()
    journal.close()
    assert counts == sorted(counts)
    assert (len(run.findings()), len(run.steps())) == (10, 3000)


names = st.text("xyz é0_")  # not "pw": what such a name holds is hidden
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
findings = st.builds(
    Finding,
    code=st.text(),
    name=st.text(),
    family=st.sampled_from(FAMILIES),
    severity=st.sampled_from(Severity),
    certainty=st.sampled_from(Certainty),
    step=st.integers(0, 2**62),
    message=st.text(),
    cause=st.text(),
    remedy=st.text(),
    where=st.builds(Where, st.none() | st.text(), st.none() | st.integers(), st.none() | st.text()),
    evidence=st.dictionaries(names, json_values, max_size=4),
)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(findings, max_size=3))
def test_findings_come_back_as_they_were(tmp_path, given_findings):
    folder = claim_folder(tmp_path)
    journal = Journal.open(folder, meta={}, on_problem=pytest.fail)
    for finding in given_findings:
        journal.finding(finding)
    journal.close()
    with Run(folder) as run:
        assert run.findings() == given_findings


def test_a_long_run_is_thinned_but_keeps_what_is_not_finite(journal, read, monkeypatch):
    monkeypatch.setattr(write, "ALL_STEPS", 100)
    monkeypatch.setattr(write, "BURST", 10)
    for step in range(1, 101):
        journal.step(stats(step), 0.0)
    journal.finding(FINDING)  # one transaction ends here
    for step in range(101, 1101):
        journal.step(stats(step, loss=math.nan if step == 777 else 1.0), 0.0)
    journal.close()
    steps = [step.step for step in read(journal.path).steps()]
    assert steps[:100] == list(range(1, 101))
    assert 777 in steps
    assert 10 <= len(steps) - 100 <= 200


def test_a_unit_that_fails_at_every_step_is_noted_only_so_often(journal, read):
    for _ in range(1000):
        with never_fatal("clipping", journal):
            raise ValueError
    journal.close()
    assert len(read(journal.path).faults()) == write.FAULTS


# --- strictly valid JSON ---------------------------------------------------------------------


class Unprintable:
    def __repr__(self):
        raise RuntimeError


def test_what_json_cannot_say_is_said_in_words():
    cycle = []
    cycle.append(cycle)
    value = {
        "nan": math.nan,
        "inf": [math.inf, -math.inf],
        1: {2, 1},
        "path": Path("a/b"),
        "severity": Severity.ERROR,
        "bytes": b"x",
        "unprintable": Unprintable(),
        "surrogate": "\udcff",
        "long": 10**5000,
        "cycle": cycle,
    }
    record = json.loads(dumps(value), parse_constant=pytest.fail)
    assert record["nan"] == "nan"
    assert record["inf"] == ["inf", "-inf"]
    assert record["1"] == [1, 2]
    assert record["path"] == "a/b"
    assert record["severity"] == "error"
    assert record["bytes"] == "b'x'"
    assert record["unprintable"] == "<Unprintable>"
    assert record["surrogate"] == "\\udcff"
    assert record["long"] == hex(10**5000)


def test_numbers_of_other_libraries_are_numbers():
    numpy = pytest.importorskip("numpy")
    assert plain([numpy.float32(0.5), numpy.int64(3), numpy.float64("nan")]) == [0.5, 3, "nan"]


# --- crashes ---------------------------------------------------------------------------------

VICTIM = """
import sys, time
from pathlib import Path
from premortem.events import StepStats
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Journal

journal = Journal.open(Path(sys.argv[1]), meta={}, on_problem=print)
step = 0
while True:
    for _ in range(50):
        step += 1
        journal.step(StepStats(step=step, optimizer=1, loss=1.0, grad_norm=1.0, worst=None), time.time())
    journal.finding(Finding(code="X1", name="x", family="lr", severity=Severity.ERROR,
                            certainty=Certainty.MEASURED, step=step, message="m"))
    print(step, flush=True)
"""


@pytest.mark.parametrize("seed", range(10))
def test_kill_9_at_a_random_moment_loses_no_finding_that_was_shown(tmp_path, read, seed):
    command = [sys.executable, "-c", VICTIM, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    first = process.stdout.readline()
    time.sleep(random.Random(seed).uniform(0, 0.3))
    process.send_signal(signal.SIGKILL)
    shown = [first, *process.stdout.readlines()]
    process.stdout.close()
    assert process.wait() == -signal.SIGKILL
    kept = {finding.step for finding in read(tmp_path).findings()}
    whole = [int(line) for line in shown if line.endswith("\n")]
    assert whole
    assert kept >= set(whole)


def test_a_forked_child_writes_nothing(journal, read):
    journal.finding(FINDING)
    child = os.fork()
    if child == 0:
        journal.finding(FINDING)
        journal.step(stats(1), 0.0)
        journal.close()
        os._exit(0 if not journal.keeps else 1)
    assert os.waitpid(child, 0)[1] == 0
    journal.finding(FINDING)
    journal.close()
    assert (len(read(journal.path).findings()), read(journal.path).steps()) == (2, [])


# --- disks that let it down ------------------------------------------------------------------


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, problems):
    (tmp_path / "file").touch()
    journal = Journal.open(tmp_path / "file" / "run", meta={}, on_problem=problems.append)
    journal.finding(FINDING)
    journal.step(stats(1), 0.0)
    journal.close()
    path = tmp_path / "file" / "run" / schema.FILE
    assert problems == [f"the journal {path} cannot be written (Not a directory); the run goes on without it"]


def test_a_damaged_file_is_one_sentence(tmp_path, problems):
    (tmp_path / schema.FILE).write_bytes(b"not a database, and long enough to be taken for one" * 100)
    journal = Journal.open(tmp_path, meta={}, on_problem=problems.append)
    journal.finding(FINDING)
    assert len(problems) == 1
    assert "file is not a database" in problems[0]


def test_two_runs_are_never_mixed_in_one_journal(journal, read, problems):
    second = Journal.open(journal.path.parent, meta={"argv": ["other.py"]}, on_problem=problems.append)
    second.finding(FINDING)
    assert len(problems) == 1
    assert "already exists" in problems[0]
    assert read(journal.path).meta == {"argv": ["train.py"]}


FULL_DISK = """
import resource, sys, time
from pathlib import Path
from premortem.events import StepStats
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Journal

journal = Journal.open(Path(sys.argv[1]), meta={}, on_problem=lambda s: print("problem:", s))
finding = Finding(code="X1", name="x", family="lr", severity=Severity.ERROR,
                  certainty=Certainty.MEASURED, step=1, message="m" * 1000)
journal.finding(finding)
size = 200_000
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
started = time.monotonic()
for step in range(2000):
    journal.finding(finding)
    journal.step(StepStats(step=step, optimizer=1, loss=1.0, grad_norm=1.0, worst=None), 0.0)
journal.close()
print("trained on", time.monotonic() - started < 20)
"""


def test_a_full_disk_is_one_sentence_and_what_was_kept_stays_readable(tmp_path, read):
    assert hasattr(resource, "RLIMIT_FSIZE")
    command = [sys.executable, "-c", FULL_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=60, check=False)
    problem, rest = done.stdout.split("\n", 1)
    assert (done.returncode, done.stderr, rest) == (0, "", "trained on True\n")
    assert problem.startswith(f"problem: the journal {tmp_path / schema.FILE} cannot be written (")
    assert len(read(tmp_path).findings()) >= 1


def test_a_lock_of_another_program_is_waited_out(journal, read):
    journal.finding(FINDING)
    other = sqlite3.connect(journal.path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    unlock = threading.Timer(0.3, lambda: other.execute("COMMIT"))
    unlock.start()
    journal.finding(FINDING)
    unlock.join()
    other.close()
    assert len(read(journal.path).findings()) == 2


def test_a_lock_that_stays_is_one_sentence_and_holds_nobody_up(journal, problems, monkeypatch):
    monkeypatch.setattr(write, "WAIT", 0.2)
    monkeypatch.setattr(write, "PATIENCE", 0.0)
    journal.finding(FINDING)
    other = sqlite3.connect(journal.path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    started = time.monotonic()
    journal.finding(FINDING)
    assert time.monotonic() - started < 1.0
    for _ in range(100):
        if problems:
            break
        time.sleep(0.1)
    other.close()
    assert ["database is locked" in problem for problem in problems] == [True]


def test_an_entry_that_makes_no_row_costs_only_itself(journal, read):
    class Broken(Seeded):
        def to_json(self):
            raise RuntimeError

    journal.event(Broken(seed=0))
    journal.finding(FINDING)
    journal.close()
    run = read(journal.path)
    assert run.findings() == [FINDING]
    assert [fault.unit for fault in run.faults()] == ["journal"]


# --- journals that cannot be read ------------------------------------------------------------


def test_no_journal(tmp_path):
    with pytest.raises(JournalError, match=r"^there is no journal at .*/journal.sqlite$"):
        Run(tmp_path)


def test_a_run_that_died_before_its_first_word(tmp_path):
    (tmp_path / schema.FILE).touch()
    with pytest.raises(JournalError, match="is empty: its run ended before it began"):
        Run(tmp_path)


def test_another_database(tmp_path):
    other = sqlite3.connect(tmp_path / schema.FILE)
    other.execute("CREATE TABLE shopping (item)")
    other.close()
    with pytest.raises(JournalError, match="is a database, but not a journal of premortem"):
        Run(tmp_path)


@pytest.mark.parametrize(("version", "word"), [(0, "an older"), (999, "a newer")])
def test_another_version(journal, version, word):
    journal.close()
    other = sqlite3.connect(journal.path)
    other.execute(f"PRAGMA user_version={version}")
    other.close()
    with pytest.raises(JournalError, match=f"was written by {word} premortem"):
        Run(journal.path)


def test_no_database_at_all(tmp_path):
    (tmp_path / schema.FILE).write_bytes(os.urandom(5000))
    with pytest.raises(JournalError, match="is damaged"):
        Run(tmp_path)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    journal = Journal.open(folder, meta={"argv": ["train.py"]}, on_problem=pytest.fail)
    for step in range(1, 200):
        journal.step(stats(step), 0.0)
    for _ in range(20):
        journal.finding(FINDING)
    journal.close()
    return (folder / schema.FILE).read_bytes()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), junk=st.binary(min_size=1, max_size=64), cut=st.booleans())
def test_damage_anywhere_is_a_clear_sentence_or_no_matter(tmp_path, sound, at, junk, cut):
    place = int(at * len(sound))
    damaged = sound[:place] + (b"" if cut else junk + sound[place + len(junk) :])
    (tmp_path / schema.FILE).write_bytes(damaged)
    with suppress(JournalError), Run(tmp_path) as run:
        assert isinstance(run.meta, dict)
        assert isinstance(run.findings() + run.steps() + run.events() + run.faults(), list)


def test_a_folder_that_cannot_be_written_can_be_read(journal, read, tmp_path):
    """SQLite wants to write next to a WAL journal even to read it; a folder in its place forbids that."""
    journal.finding(FINDING)
    copy = tmp_path / "read-only"
    copy.mkdir()
    for name in (schema.FILE, f"{schema.FILE}-wal"):
        shutil.copy(journal.path.with_name(name), copy)
    (copy / f"{schema.FILE}-shm").mkdir()
    assert read(copy).findings() == [FINDING]


def copied(folder, target):
    """As Ray copies a trial's folder to its storage, again and again: what is gone by then is not deleted there."""
    shutil.copytree(folder, target, dirs_exist_ok=True)


def test_a_copy_that_was_begun_during_the_run_is_whole_when_it_is_copied_again(journal, read, tmp_path):
    """An old WAL file that stays beside the new journal would be laid over it."""
    for step in range(200):
        journal.step(stats(step), 0.0)
    journal.finding(FINDING)
    copied(journal.path.parent, tmp_path / "copy")
    wal = tmp_path / "copy" / f"{schema.FILE}-wal"
    assert wal.stat().st_size > 0
    for step in range(200, 3000):
        journal.step(stats(step), 0.0)
    journal.note(reason="finished", text="x" * 20_000)
    journal.close()

    copied(journal.path.parent, tmp_path / "copy")
    assert wal.stat().st_size == 0
    run = read(tmp_path / "copy")
    assert (run.meta["reason"], len(run.steps()), run.findings()) == ("finished", 3000, [FINDING])


def test_what_is_added_later_does_not_spoil_a_copy_either(journal, read, tmp_path):
    folder = journal.path.parent
    journal.event(Seeded(step=0, seed=6))
    journal.finding(FINDING)
    copied(folder, tmp_path / "copy")
    journal.close()
    assert later.add(folder, Seeded(step=1, seed=7))
    copied(folder, tmp_path / "copy")
    assert [event["event"] for event in read(tmp_path / "copy").events()] == ["Seeded", "Seeded"]


def test_a_journal_without_a_wal_gets_none(tmp_path):
    """Where the disk allows none, and of a run that was fetched from elsewhere."""
    write.create(tmp_path / schema.FILE, {}, mode="DELETE")
    assert later.add(tmp_path, Seeded(step=1, seed=7))
    assert [path.name for path in tmp_path.iterdir()] == [schema.FILE]


# --- a disk without locks --------------------------------------------------------------------

READER = """
import sys
from pathlib import Path
from premortem.events import Seeded
from premortem.journal import Run, later
folder = Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with Run(folder) as run:
        found, steps = run.findings(), run.steps()
    # Steps are written at the latest with the finding that follows them: a torn copy has other ones.
    assert [each.step for each in steps] == list(range(1, len(steps) + 1)) and len(steps) >= found[-1].step
    print(found[-1].step)
if len(sys.argv) > 3:
    print(later.add(folder, Seeded(step=1, seed=7)))
    with Run(folder) as run:
        print(len(run.events("Seeded")))
"""


def test_a_disk_without_locks_keeps_a_journal_that_is_readable_at_any_time(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    environ = {**ENVIRONMENT, **without_locks.environment(disk, tmp_path)}
    refused = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('CREATE TABLE a (b)')"
    plain = subprocess.run(
        [sys.executable, "-c", refused, str(disk / "plain")], env=environ, capture_output=True, check=False
    )
    assert b"database is locked" in plain.stderr, "SQLite by itself writes nothing there"

    command = [sys.executable, "-c", VICTIM, str(disk / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    shown = [process.stdout.readline() for _ in range(3)]

    def seen(*words):
        reader = [sys.executable, "-c", READER, str(disk / "run"), *words]
        return subprocess.run(reader, env=environ, capture_output=True, text=True, check=True).stdout.split()

    live = [int(word) for word in seen("20")]
    assert int(shown[-1]) <= live[0] < live[-1], "it goes on while it is read"
    process.send_signal(signal.SIGKILL)
    shown += process.stdout.readlines()
    process.stdout.close()
    process.wait()
    whole = [int(line) for line in shown if line.endswith("\n")]
    last, added, events = seen("1", "more")
    assert int(last) >= whole[-1]
    assert (added, events) == ("True", "1")


# --- folders ---------------------------------------------------------------------------------


def test_each_run_has_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = {default_folder("train") for _ in range(5)}
    assert len(folders) == 5
    assert all(folder.parent == tmp_path / ".premortem" / "runs" for folder in folders)
    assert all(f"Z-train-{os.getpid()}" in folder.name for folder in folders)
    assert (tmp_path / ".premortem" / ".gitignore").read_text() == "*\n"


def test_runs_that_start_together_in_one_folder_do_not_meet(tmp_path):
    chosen = []
    threads = [threading.Thread(target=lambda: chosen.append(claim_folder(tmp_path))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = sorted(str(folder.relative_to(tmp_path)) for folder in chosen)
    assert names == sorted([".", *(f"run-{number}" for number in range(2, 17))])
