"""`premortem report` as a person calls it."""

import os
import re
import subprocess
import sys

import pytest

from premortem.cli import main
from premortem.journal import Run
from premortem.report.find import newest, written
from tests.report.conftest import BROKEN, finding, premortem
from tests.report.reading import Page


def said(capsys):
    return capsys.readouterr().err.removeprefix("premortem: ").strip().replace("\n", " ")


def test_a_real_run_from_its_failure_to_its_page(broken):
    """Without a name it is the newest run of the folder."""
    done = premortem("report", cwd=broken)
    assert done.returncode == 0, done.stderr
    written = broken / done.stdout.strip()
    page = Page(written.read_text(encoding="utf-8"))
    assert written.name == "report.html"
    assert "This run is broken from step 40 on" in page.text
    assert "premortem stopped it." in page.text
    assert "loss = error + torch.log(error * 0 + (step < 40))" in page.text
    assert "proved" in page.text
    assert {"timeline", "findings", "layers", "custody", "resources", "checkpoints"} <= page.ids
    assert {"timeline", "heat-gradient", "heat-ratio", "heat-dead", "memory"} <= set(page.plots)
    assert "4 of 4 moved by the step" in page.text
    assert "The last good weights are in" in page.text
    assert "AdamW: lr 0.01" in page.text
    assert "256 samples in batches of 16, in order, no workers" in page.text
    assert "premortem run train.py 0.01" in page.text
    assert page.outside == []


def test_the_same_as_markdown(broken):
    done = premortem("report", "-o", "-", cwd=broken)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# This run is broken from step 40 on: the logarithm of 0 at train.py:")
    assert "| train\\_loss | " in done.stdout
    assert re.search(r"^> 18 \|  +loss = error \+ torch\.log", done.stdout, re.MULTILINE)
    assert "## Chain of custody" in done.stdout


def test_two_real_runs(broken):
    other = broken / "other"
    other.mkdir()
    (other / "train.py").write_text(BROKEN)
    premortem("run", "--quiet", "--folder", "again", "train.py", "0.02", cwd=other)
    done = premortem("report", broken, "again", "-o", "both.md", cwd=other)
    assert (done.returncode, done.stderr) == (0, "")
    text = (other / "both.md").read_text(encoding="utf-8")
    assert text.startswith("# The two runs part at step 1: the learning rate is 0.01 and 0.02.")
    assert "| argument 1 | 0.01 | 0.02 |" in text


def test_a_page_goes_where_it_is_asked_to_go(journal, tmp_path, capsys):
    path = journal(losses=[1.0, 0.5], findings=[finding(step=1)])
    assert main(["report", str(path), "-o", str(tmp_path / "a.html")]) == 0
    assert main(["report", str(path.parent), "-o", str(tmp_path / "b.md")]) == 0
    assert main(["report", str(path.parent), "--format", "md"]) == 0
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "b.md").read_text() == (path.parent / "report.md").read_text()
    assert [line.rpartition("/")[2] for line in capsys.readouterr().out.split()] == [
        "a.html",
        "b.md",
        "report.md",
    ]


def test_nothing_here(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report"]) == 2
    assert said(capsys) == "no run was made here yet; which one? premortem report RUN"


def test_a_folder_that_is_no_run(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    assert main(["report", str(tmp_path / "data")]) == 2
    assert "is a folder, but not that of a run: there is no journal.sqlite in it" in said(capsys)


def test_a_name_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", "yesterday"]) == 2
    assert said(capsys).startswith("there is no `yesterday`; a run is a folder in .premortem/runs")


def test_a_file_that_is_no_journal(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("not a database" * 100)
    assert main(["report", str(tmp_path / "notes.txt")]) == 1
    assert "is damaged (file is not a database)" in said(capsys)


def test_three_runs_are_one_too_many(journal, capsys):
    path = str(journal(losses=[1.0]))
    assert main(["report", path, path, path]) == 2
    assert said(capsys) == "a report is about one run, or compares two: premortem report A B"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["-o", "page.pdf"],
            "ends in none of .html, .htm, .md, .markdown, .json; give --format html|md|json",
        ),
        (["--format", "pdf"], "there is no format `pdf`; there are html, md, json"),
        (["-o", "no/such/folder/a.md"], "the report cannot be written to no/such/folder/a.md (No such file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(journal, tmp_path, monkeypatch, capsys, words, sentence):
    path = str(journal(losses=[1.0]))
    monkeypatch.chdir(tmp_path)
    assert main(["report", path, *words]) in {1, 2}
    assert sentence in said(capsys)


def test_without_the_extra_the_page_says_what_to_install_and_markdown_works(journal):
    path = str(journal(losses=[1.0, 0.5]))
    absent = (
        "import sys; sys.modules.update(torch=None, bokeh=None, numpy=None, jinja2=None, markupsafe=None); "
    )
    call = "from premortem.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", absent + call, "report", path]
    page = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (page.returncode, page.stdout) == (1, "")
    assert page.stderr.strip().replace("\n", " ") == (
        "premortem: the HTML page (`--format md` does not) needs more than the base package: "
        "pip install 'premortem[report]'"
    )
    text = subprocess.run([*command, "-o", "-"], capture_output=True, text=True, check=False)
    assert (text.returncode, text.stderr) == (0, "")
    assert text.stdout.startswith("# Nothing wrong was seen in 2 steps.")


def test_reading_an_old_run_does_not_make_it_the_newest(tmp_path, journal):
    """Who reads a journal leaves files beside it, and a replay adds to it."""
    runs = tmp_path / ".premortem" / "runs"
    for name in ("20260101T000000Z-a-1", "20260102T000000Z-b-1"):
        journal(f".premortem/runs/{name}")
    old = runs / "20260101T000000Z-a-1" / "journal.sqlite"
    before = written(old)
    os.utime(old, (before - 60, before - 60))
    with Run(old) as run:
        assert run.meta["argv"] == ["train.py"]
    assert written(old) == pytest.approx(before - 60)
    os.utime(old, (before + 60, before + 60))
    assert newest(runs).parent.name == "20260102T000000Z-b-1"
