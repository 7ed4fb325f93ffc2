"""The run of a stranger, looked at: its page tells nothing of this machine, and no link in its folder is followed."""

import os

import pytest

from premortem.cli import main
from premortem.events import CheckpointSaved
from premortem.files import run_requests
from premortem.findings import Where
from tests.report.conftest import finding


def saved(path):
    return CheckpointSaved(step=1, path=str(path), bytes=10)


def test_a_report_does_not_say_which_files_are_here(journal, tmp_path, monkeypatch, capsys):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (elsewhere / "present.pt").write_text("")
    monkeypatch.chdir(here)
    names = [elsewhere / "present.pt", elsewhere / "absent.pt", "../elsewhere/absent2.pt", "gone.pt"]
    path = journal("run", losses=[1.0], events=map(saved, names), meta={"cwd": str(here)})
    assert main(["report", str(path), "-o", "-"]) == 0
    page = capsys.readouterr().out
    rows = {
        name: line
        for line in page.splitlines()
        for name in ("present.pt", "absent.pt", "absent2.pt", "gone.pt")
        if f"/{name}" in line
    }
    assert "not there any more" in rows["gone.pt"], "of the run's own folder it does"
    assert not [name for name in ("present.pt", "absent.pt", "absent2.pt") if "any more" in rows[name]]


def test_a_source_is_what_the_journal_holds_and_not_what_a_path_says(journal, tmp_path, capsys):
    secret = tmp_path / "secret.py"
    path = journal("run", losses=[1.0], findings=[finding(where=Where(str(secret), 3))])
    secret.write_text("password = 'hush'\n" * 9)
    assert main(["report", str(path), "-o", "-"]) == 0
    assert main(["report", str(path)]) == 0
    assert "hush" not in capsys.readouterr().out + (path.parent / "report.html").read_text()


@pytest.mark.parametrize("kind", ["file", "pipe", "dangling"])
def test_a_link_in_the_place_of_the_report_is_replaced_and_not_followed(journal, tmp_path, kind):
    path = journal("run", losses=[1.0])
    target = tmp_path / "target"
    if kind == "file":
        target.write_text("mine")
    elif kind == "pipe":
        os.mkfifo(target)
    (path.parent / "report.html").symlink_to(target)
    (path.parent / f".report.html.{os.getpid()}").symlink_to(tmp_path / "draft")
    assert main(["report", str(path)]) == 0
    assert not (path.parent / "report.html").is_symlink()
    assert not (tmp_path / "draft").exists()
    assert kind != "file" or target.read_text() == "mine"
    assert kind != "dangling" or not target.exists()


def test_what_is_asked_of_a_run_is_not_written_through_a_link(tmp_path):
    (tmp_path / "asked-stop").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        run_requests.ask(tmp_path, run_requests.STOP)
    assert not (tmp_path / "elsewhere").exists()
    run_requests.ask(tmp_path, run_requests.SAVE)
    run_requests.ask(tmp_path, run_requests.SAVE)
    assert run_requests.SAVE in run_requests.taken(tmp_path)
