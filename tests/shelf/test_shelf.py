"""A run is published while it is written, and read elsewhere as if its journal lay there."""

import gzip
import json
import signal
import subprocess
import sys
import time

import pytest

from premortem.errors import JournalError, UsageError
from premortem.events import LogLine, OptimizerBuilt, StepStats
from premortem.findings import Certainty, Finding, Severity
from premortem.journal import Journal, Run, replica, schema
from premortem.journal.rows import INSERT
from premortem.shelf import index, layout, publisher, reader
from premortem.shelf.publisher import Publisher
from premortem.shelf.reader import Shelf
from premortem.ui.runs import Runs
from premortem.vault.remote import Remote

TABLES = {
    "meta": "SELECT * FROM meta ORDER BY key",
    "steps": "SELECT * FROM steps ORDER BY rowid",
    "findings": "SELECT * FROM findings ORDER BY id",
    "events": "SELECT * FROM events ORDER BY id",
    "faults": "SELECT * FROM faults ORDER BY rowid",
    "series": "SELECT * FROM series ORDER BY rowid",
    "layers": "SELECT * FROM layers ORDER BY rowid",
    "latest": "SELECT * FROM latest ORDER BY name",
    "sources": "SELECT * FROM sources ORDER BY path",
}


@pytest.fixture(autouse=True)
def _at_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(publisher, "EVERY", 0.02)


def rows(path):
    from premortem.journal.opening import Opened

    opened = Opened(path)
    try:
        return {table: list(opened.rows(query)) for table, query in TABLES.items()}
    finally:
        opened.close()


def begun(folder, script="train.py"):
    meta = {
        "argv": [script],
        "reason": "running",
        "started": "2026-11-18T09:00:00+00:00",
        "host": "elsewhere",
    }
    return Journal.open(folder, meta=meta, on_problem=pytest.fail)


def go_on(journal, first, last):
    for step in range(first, last):
        loss = float("nan") if step == 7 else 1.0 / (step + 1)
        journal.step(
            StepStats(step=step, optimizer=1, loss=loss, grad_norm=float("inf"), worst=None, lr=0.1),
            float(step),
        )
    journal.event(OptimizerBuilt(step=last, optimizer=1, kind="SGD", groups=()))
    journal.event(
        LogLine(step=last, text="accuracy 0.5", template="accuracy #", values=(("accuracy", "0.5", 0.5),))
    )
    journal.fault("unit", ValueError("ours"))


def found(step=7):
    return Finding(
        code="PM442",
        name="non-finite-training",
        family="numerics-nan",
        severity=Severity.ERROR,
        certainty=Certainty.PROVED,
        step=step,
        message="the loss is NaN",
        cause="",
        remedy="",
    )


def until(happened, seconds=30.0):
    end = time.monotonic() + seconds
    while not (answer := happened()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return answer


def test_every_table_is_copied():
    assert set(replica.ADDED) | set(replica.REPLACED) == set(INSERT) == set(TABLES)


def test_a_copy_made_in_parts_is_the_journal(tmp_path, monkeypatch):
    monkeypatch.setattr(replica, "ROWS", 7)  # so that a part is full before its journal is
    journal = begun(tmp_path / "run")
    copy = replica.Replica(tmp_path / "copy" / schema.FILE)
    sent, number = replica.Sent(), 0
    for round_ in range(3):
        go_on(journal, round_ * 10, round_ * 10 + 10)
        journal.note(steps=round_ * 10)
        journal.finding(found(round_))
        for part, after in replica.unsent(journal.path, sent):
            number += 1
            copy.add(json.loads(json.dumps(part)), number)
            sent = after
    journal.close()
    for part, _after in replica.unsent(journal.path, sent):
        number += 1
        copy.add(part, number)
        copy.add(part, number)  # twice is once
    assert copy.parts == number > 6
    copy.close()
    assert rows(copy.path) == rows(journal.path)
    assert list(replica.unsent(journal.path, replica.Sent(**json.loads(json.dumps(_after.to_json()))))) == []


@pytest.mark.parametrize(
    "part",
    [
        [],
        {"sqlite_master": [["x"]]},
        {"fetched": [[1]]},
        {"steps": {"a": 1}},
        {"steps": [[1, 2, 3]]},
        {"steps": [[1, 1, 2, 3.0, [], None, None]]},
        {"meta": [["key", "value", "more"]]},
        {"meta": [["key", 1 << 64]]},
    ],
)
def test_what_is_not_a_part_of_a_journal_is_refused(tmp_path, part):
    copy = replica.Replica(tmp_path / schema.FILE)
    with pytest.raises(JournalError):
        copy.add(part, 1)
    assert copy.parts == 0
    copy.close()


def test_a_part_is_not_unpacked_into_more_than_there_is_memory_for():
    with pytest.raises(JournalError, match="more than"):
        layout.unpack(gzip.compress(b" " * 10_000), most=5_000)
    with pytest.raises(JournalError, match="damaged"):
        layout.unpack(b"no gzip")


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".hidden", "x" * 300])
def test_a_name_that_leads_elsewhere_is_not_a_run(name, tmp_path):
    about = {
        "format": 2,
        "parts": 1,
        "time": 1.0,
        "meta": {},
        "losses": [],
        "script": "",
        "started": "",
        "steps": 0,
    }
    about |= {"loss": None, "tone": "good", "found": "", "message": ""}
    assert layout.read_head("run", about, tmp_path).parts == 1
    with pytest.raises(JournalError):
        layout.read_head(name, about, tmp_path)


def test_a_run_is_listed_and_read_while_it_goes_on(tmp_path):
    url = str(tmp_path / "shelf")
    journal = begun(tmp_path / "runs" / "run")
    publishing = Publisher(url, journal.path.parent, pytest.fail)
    publishing.start()
    go_on(journal, 0, 10)
    shelf = Shelf(url)
    runs = Runs(shelves=[shelf])
    name = publishing.runs[0].name

    def listed():
        shelf.look()
        return shelf.heads().get(name)

    assert until(lambda: (head := listed()) and head.entry.steps == 9 and head).entry.running
    first = shelf.fetch(name)
    with Run(first) as run:
        assert len(run.steps()) == 10
    journal.finding(found())
    journal.note(reason="finished")
    journal.close()
    publishing.close()
    head = listed()
    assert (head.over, head.entry.tone, head.entry.running) == (True, "bad", False)
    runs._looked = -1e9
    assert [entry.name for entry in runs.listing().entries] == [name]
    shelf._brought.clear()
    assert rows(runs.find(name)) == rows(journal.path)
    assert name in index.read(Remote(url))


def test_an_outage_costs_nothing(tmp_path, monkeypatch):
    said, broken = [], [True]
    real = Remote.write

    def write(self, name, content):
        if broken:
            raise OSError("the network is away")
        real(self, name, content)

    monkeypatch.setattr(Remote, "write", write)
    monkeypatch.setattr(publisher, "LONGEST", 0.02)
    journal = begun(tmp_path / "run")
    publishing = Publisher(str(tmp_path / "shelf"), journal.path.parent, said.append)
    publishing.start()
    go_on(journal, 0, 10)
    until(lambda: said)
    broken.clear()
    go_on(journal, 10, 20)
    journal.close()
    publishing.close()
    assert len(said) == 1
    assert "the network is away" in said[0]
    assert rows(Shelf(str(tmp_path / "shelf")).fetch(publishing.runs[0].name)) == rows(journal.path)


def test_what_a_run_could_not_send_is_sent_by_the_next_one(tmp_path, monkeypatch):
    url = str(tmp_path / "shelf")
    first = begun(tmp_path / "runs" / "first")
    go_on(first, 0, 5)
    publishing = Publisher(url, first.path.parent, pytest.fail)
    assert publishing._attempt(last=False)  # it is killed after this
    go_on(first, 5, 9)
    first.note(reason="finished")
    first.close()
    second = begun(tmp_path / "runs" / "second")
    second.note(reason="finished")
    second.close()
    again = Publisher(url, second.path.parent, pytest.fail)
    assert len(again.runs) == 2
    again.start()
    again.close()
    shelf = Shelf(url)
    assert rows(shelf.fetch(publishing.runs[0].name)) == rows(first.path)
    assert Publisher(url, second.path.parent, pytest.fail).runs[1:] == []


def test_a_head_that_is_damaged_costs_its_own_run_only(tmp_path):
    url = tmp_path / "shelf"
    journal = begun(tmp_path / "run")
    go_on(journal, 0, 3)
    journal.close()
    publishing = Publisher(str(url), journal.path.parent, pytest.fail)
    publishing.start()
    publishing.close()
    (url / "heads" / "20260101T000000Z-other.json").write_text('{"format": 2, "parts": "many"}')
    (url / "heads" / "20260101T000000Z-huge.json").write_bytes(b" " * (layout.HEAD + 1))
    shelf = Shelf(str(url))
    shelf.look()
    assert list(shelf.heads()) == [publishing.runs[0].name]
    with pytest.raises(JournalError):
        shelf.fetch("20260101T000000Z-other")


def test_a_run_is_named_by_the_beginning_of_its_name(tmp_path):
    heads = tmp_path / "heads"
    heads.mkdir()
    for name in ("20260101T000000Z-a-1", "20260101T000000Z-b-2"):
        (heads / f"{name}.json").write_text("{}")
    shelf = Shelf(str(tmp_path))
    assert shelf.named("20260101T000000Z-a") == "20260101T000000Z-a-1"
    with pytest.raises(UsageError, match="2 runs"):
        shelf.named("2026")
    with pytest.raises(UsageError, match="the newest is"):
        shelf.named("c")


def test_losses_of_the_index_are_taken_apart_when_they_are_asked_for(tmp_path):
    about = layout.compact(
        {"format": layout.schema.VERSION, "parts": 1, "time": 1.0, "meta": {"reason": "finished"}, "losses": [0.5, 0.25, 1e-9]}
        | {"script": "a.py", "started": "", "steps": 3, "loss": 0.25, "tone": "good", "found": "", "message": ""}
    )  # fmt: skip
    assert layout.compact(about) == about
    head = layout.read_head("one", about, tmp_path)
    assert list(head.entry.losses) == [0.5, 0.25, 1e-9]
    damaged = layout.read_head("one", about | {"losses": "0.5 what"}, tmp_path)
    assert list(damaged.entry.losses) == []


def test_a_large_shelf_is_looked_at_less_often():
    assert reader.pause(0.01) == reader.EVERY
    assert 1.0 / (1.0 + reader.pause(1.0)) == pytest.approx(reader.SHARE)
    assert reader.pause(60.0) == reader.SELDOM


def test_the_index_is_filled_by_a_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "COLLECTED", 3)
    url = str(tmp_path)
    about = {
        "format": 2,
        "parts": 0,
        "time": 1.0,
        "meta": {"reason": "finished"},
        "losses": [],
        "script": "train.py",
    }
    about |= {"started": "", "steps": 0, "loss": None, "tone": "good", "found": "", "message": ""}
    remote = Remote(url)
    for number in range(4):
        remote.write(layout.head_name(f"2026-{number}"), layout.write_head(about))
    Shelf(url).look()
    assert len(index.read(remote)) == 4
    asked = []
    monkeypatch.setattr(Remote, "read_all", lambda self, names, most: asked.extend(names) or {})
    shelf = Shelf(url)
    shelf.look()
    assert len(shelf.heads()) == 4
    assert asked == []
    remote.remove(layout.head_name("2026-0"))
    shelf.look()
    assert len(shelf.heads()) == 3  # whatever the index says


SCRIPT = """
import sys, time, torch
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    optimizer.zero_grad()
    model(torch.ones(4, 2)).pow(2).mean().backward()
    optimizer.step()
    time.sleep(0.01)
"""


def test_a_run_that_is_killed_is_on_the_shelf(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    url = tmp_path / "shelf"
    command = [sys.executable, "-m", "premortem", "run", "--quiet", "--publish", str(url), "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL) as process:
        try:
            shelf = Shelf(str(url))

            def steps():
                shelf.look()
                return [head.name for head in shelf.heads().values() if head.entry.steps > 20]

            (name,) = until(steps, 60.0)
        finally:
            process.send_signal(signal.SIGKILL)
    with Run(shelf.fetch(name)) as run:
        assert run.meta["reason"] == "running"
        assert len(run.steps()) > 20
        assert "optimizer.step()" in next(
            text for path, text in run.sources().items() if path.endswith("train.py")
        )
    assert shelf.fetch(name).stat().st_mtime == pytest.approx(shelf.heads()[name].time)
