"""The files that a run reads, looked at beside it with the checks of `premortem check`."""

import os
import sqlite3
import time

import numpy as np
import pytest

from premortem.files.opened import Openings
from premortem.findings import Finding, Severity
from premortem.preflight.data import surveying
from premortem.preflight.project import Project
from premortem.run import data_reading
from premortem.run.data_reading import DataReading
from premortem.run.options import RunOptions


def table(path, sentinel):
    rng = np.random.default_rng(3)
    rows = [f"{a:.3f},{b:.3f},{c:.3f}" for a, b, c in rng.normal(50, 5, (400, 3))]
    if sentinel:
        rows[::20] = ["-9999" + row[row.index(",") :] for row in rows[::20]]
    path.write_text("height,rain,wind\n" + "\n".join(rows) + "\n")
    os.utime(path, (time.time() - 60,) * 2)


def script(folder):
    (folder / "train.py").write_text("import csv\nrows = list(csv.DictReader(open('data/readings.csv')))\n")
    (folder / "data").mkdir()


def found(folder, files, began=None):
    project = Project(folder=folder, target=str(folder / "train.py"))
    part = surveying.survey_opened(project, list(map(str, files)), began or time.time(), lambda _: None)
    return [finding.code for finding in part.findings if finding.severity is not Severity.INFO]


def test_only_files_that_were_opened_are_accused(tmp_path):
    script(tmp_path)
    good, bad = tmp_path / "data" / "readings.csv", tmp_path / "data" / "older.csv"
    table(good, sentinel=False)
    table(bad, sentinel=True)
    assert found(tmp_path, [good]) == []
    assert found(tmp_path, [good, bad]) == ["PM674"]


def test_what_the_run_has_written_itself_is_left_alone(tmp_path):
    script(tmp_path)
    path = tmp_path / "data" / "readings.csv"
    table(path, sentinel=True)
    assert found(tmp_path, [path], began=time.time() - 3600) == []


def test_a_table_beside_a_folder_of_pictures_belongs_to_it(tmp_path):
    from PIL import Image

    script(tmp_path)
    pictures = tmp_path / "data" / "images"
    pictures.mkdir()
    names = [f"leaf_{at:03d}" for at in range(60)]
    for name in names[:20]:
        Image.fromarray(np.random.default_rng(1).integers(0, 255, (8, 8, 3), dtype="uint8")).save(
            pictures / f"{name}.png"
        )
    labels = tmp_path / "data" / "labels.csv"
    labels.write_text(
        "image_id,kind\n" + "".join(f"{name},{'ab'[at % 2]}\n" for at, name in enumerate(names))
    )
    for path in (labels, *pictures.iterdir()):
        os.utime(path, (time.time() - 60,) * 2)
    assert "PM639" in found(tmp_path, [labels, pictures / "leaf_000.png"])


@pytest.mark.parametrize(("reach", "expected"), [(2, ["PM742"]), (0, [])])
def test_what_was_opened_beside_a_table_says_which_column_is_the_target(tmp_path, reach, expected):
    """A library opens the table, and the script a list of its columns."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "data").mkdir()
    load = np.cumsum(np.random.default_rng(3).normal(0, 1, 800)).round(2)
    rows = np.arange(10, 790)
    columns = {
        "time": [str(np.datetime64("2023-01-01T00:00") + np.timedelta64(int(at), "h")) for at in rows],
        "load": load[rows],
        "smooth": np.stack([load[rows + reach - at] for at in range(5)]).mean(0).round(3),
        "next": load[rows + 1],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "data" / "load.parquet")
    listed = tmp_path / "data" / "columns.json"
    listed.write_text('{"target": "next", "features": ["load", "smooth"]}')
    (tmp_path / "train.py").write_text(
        "import json, pandas\ntable = pandas.read_parquet('data/load.parquet')\nnames = json.load(open('data/columns.json'))\n"
        "x, y = table[names['features']], table[names['target']]\n"
    )
    for path in (tmp_path / "data").iterdir():
        os.utime(path, (time.time() - 60,) * 2)
    assert found(tmp_path, [listed]) == expected


def test_a_process_beside_the_run_says_what_it_finds_as_warnings(tmp_path, monkeypatch):
    script(tmp_path)
    path = tmp_path / "data" / "readings.csv"
    table(path, sentinel=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_reading, "MOMENT", 60.0)
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    reading = DataReading(RunOptions(target="train.py"), lambda unit, error: None)
    reading.begin([str(path)])
    found_beside = reading.take(last=True)
    assert [(f.code, f.severity) for f in found_beside.findings] == [("PM674", Severity.WARNING)]
    assert "placeholder-taken-for-a-value" in found_beside.cards[0].explains
    assert reading.take(last=True) is None


def test_where_nothing_was_opened_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setattr(data_reading, "_SILENT", ())
    reading = DataReading(RunOptions(target="train.py"), lambda unit, error: None)
    reading.begin([])
    assert reading.over
    assert reading.take(last=True) is None


def test_an_error_of_the_checks_is_a_warning_of_a_run():
    record = {
        "code": "PM663",
        "name": "splits-overlap",
        "family": "data-order",
        "severity": "error",
        "certainty": "measured",
        "step": 0,
        "where": {"file": None, "line": None, "module": None, "parameter": None},
        "message": "x",
    }
    assert data_reading.warned(Finding.from_json(record)).severity is Severity.WARNING


def test_a_database_is_heard_although_its_library_opens_it(tmp_path):
    heard = Openings()
    heard.install()
    try:
        sqlite3.connect(tmp_path / "shop.db").close()
        sqlite3.connect(f"file:{tmp_path}/other.db?mode=rwc", uri=True).close()
        sqlite3.connect(":memory:").close()
    finally:
        heard.leave()
    assert [name.rpartition("/")[2] for name in heard.files if name.startswith(str(tmp_path))] == [
        "shop.db",
        "other.db",
    ]


def test_a_process_that_was_ended_says_nothing_and_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_reading, "_CALL", "raise SystemExit(9)")
    faults = []
    reading = DataReading(RunOptions(target="train.py"), lambda unit, error: faults.append(unit))
    reading.begin(["x.csv"])
    assert reading.take(last=True) is None
    assert (reading.over, faults) == (True, [])


@pytest.mark.parametrize(("end", "found"), [("", 2), ("[:-9]", 1)])
def test_what_a_process_had_found_before_it_was_ended_counts(tmp_path, monkeypatch, end, found):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_reading, "MOMENT", 60.0)
    script = f"""
import json, os, signal
from premortem.findings import Certainty, Finding, Severity
for code in ("PM674", "PM617"):
    made = Finding(code=code, name=code, family="data-order", severity=Severity.WARNING, certainty=Certainty.MEASURED, step=0, message="m")
    line = json.dumps({{"finding": made.to_json(), "explains": []}}) + "\\n"
    print(line if code == "PM674" else line{end}, end="", flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    monkeypatch.setattr(data_reading, "_CALL", script)
    reading = DataReading(RunOptions(target="train.py"), lambda unit, error: None)
    reading.begin(["x.csv"])
    assert [f.code for f in reading.take(last=True).findings] == ["PM674", "PM617"][:found]


def test_the_end_of_a_run_waits_a_moment_and_leaves_no_process_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_reading, "_CALL", "import time; time.sleep(120)")
    reading = DataReading(RunOptions(target="train.py"), lambda unit, error: None)
    reading.begin([str(tmp_path / "x.csv")])
    process = reading._process
    waited = []
    wait = process.wait
    monkeypatch.setattr(process, "wait", lambda timeout=None: (waited.append(timeout), wait(timeout))[1])
    assert reading.take(last=True) is None
    assert waited[0] == data_reading.MOMENT
    assert process.returncode is not None
