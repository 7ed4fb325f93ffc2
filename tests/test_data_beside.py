"""The files that a run reads, looked at beside it with the checks of `premortem check`."""

import os
import sqlite3
import time

import numpy as np

from premortem.files.opened import Openings
from premortem.findings import Severity
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


def test_a_process_beside_the_run_says_what_it_finds_as_warnings(tmp_path, monkeypatch):
    script(tmp_path)
    path = tmp_path / "data" / "readings.csv"
    table(path, sentinel=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(data_reading, "PATIENCE", 60.0)
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
    assert data_reading.warned(record).severity is Severity.WARNING


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
