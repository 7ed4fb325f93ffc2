"""The run explains itself: the step that failed is run again beside it, and every place that tells of it says the same."""

import json
import subprocess
import sys
import time

import pytest

from premortem.replay.beside import Autopsies, children_of
from tests import starting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox that is asked for is Linux's")


@pytest.fixture
def explained(scene):
    place = scene("trainer_class.py")
    place.done = place.watch("--epochs", "1", PREMORTEM_AUTOPSY="1")
    assert place.done.returncode == 0, place.done.stderr
    return place


def test_the_origin_is_in_the_findings_the_console_the_journal_and_the_report(explained):
    (found,) = [f for f in explained.findings if f["evidence"].get("replayed")]
    assert found["certainty"] == "proved"
    assert "log1p" in explained.line(found["where"]["line"])
    assert found["evidence"]["op"] == "log1p"
    assert "log1p" in found["message"]
    assert "run again to find the cause" in explained.done.stderr
    assert found["message"][:40] in explained.done.stderr.replace("\n  ", " ")
    report = explained.premortem("report", "-o", "r.md")
    assert report.returncode == 0, report.stderr
    assert f"{explained.script}:{found['where']['line']}" in (explained.folder / "r.md").read_text()
    assert not list(explained.folder.glob(".premortem/runs/*/autopsy*")), "nothing is left behind"


def test_it_can_be_turned_off_and_a_replay_by_hand_is_in_the_next_report(scene):
    place = scene("trainer_class.py")
    done = place.watch("--epochs", "1", options=["--no-autopsy"], PREMORTEM_AUTOPSY="1")
    assert "run again to find the cause" not in done.stderr
    place.premortem("report", "-o", "before.md")
    replayed = place.premortem("replay", "--quick")  # without a name: the newest failure
    assert replayed.returncode == 0, replayed.stderr
    place.premortem("report", "-o", "after.md")
    before, after = ((place.folder / name).read_text() for name in ("before.md", "after.md"))
    line = next(n for n, text in enumerate(place.line(i + 1) for i in range(40)) if "log1p" in text) + 1
    assert f":{line}" in after
    assert "run again, and it broke there again" in after
    assert "run again, and it broke there again" not in before


def test_without_a_failure_there_is_nothing_to_replay(scene):
    done = scene("never_recovers.py").premortem("replay")
    assert done.returncode == 2
    assert "there is no failed step in .premortem/runs" in done.stderr


def test_it_ends_with_the_run(tmp_path, explained):
    """Whoever starts an autopsy and is killed leaves no process behind."""
    code = (
        "import sys, time; from pathlib import Path; from premortem.replay.beside import Autopsies\n"
        "a = Autopsies(Path(sys.argv[1]), lambda _: True); a.add(Path(sys.argv[2])); a.heard()\n"
        "print(a._process.pid, flush=True); time.sleep(600)"
    )
    words = [sys.executable, "-c", code, str(tmp_path), str(explained.capsules[0])]
    with starting.Popen(words, stdout=subprocess.PIPE, text=True) as run:
        pid = int(run.stdout.readline())
        run.kill()
    until = time.monotonic() + 60
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not alive(pid)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - of the kernel's
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_what_the_run_has_seen_itself_is_not_looked_for_again(tmp_path):
    autopsies = Autopsies(tmp_path, lambda _: False)
    autopsies.add(tmp_path / "step-3")
    assert autopsies.heard() == []
    assert not autopsies.wanted
    assert not autopsies.pending


def test_an_answer_that_is_no_answer_is_a_problem(tmp_path):
    autopsies = Autopsies(tmp_path, lambda _: True)
    autopsies.add(tmp_path / "step-3")  # which is not there
    (record,) = autopsies.last(60)
    assert record["reproduced"] is False
    assert "does not exist" in json.dumps(record)


def test_the_machine_is_asked_for_its_processes():
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert child.pid in children_of(__import__("os").getpid())
        finally:
            child.kill()
