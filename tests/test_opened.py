"""Which files this process reads, and that being heard does not change the order of threads."""

import gc
import os
import sys
from pathlib import Path

import pytest

from premortem.files import opened
from premortem.files.opened import Openings


@pytest.fixture
def openings():
    made = Openings()
    made.install()
    yield made
    made.leave()


def test_a_relative_path_is_that_of_the_folder_it_was_opened_in(openings, tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.csv").write_text("1")
    monkeypatch.chdir(tmp_path / "a")
    with open("x.csv") as file:  # noqa: PTH123 - as a script spells it
        file.read()
    os.chdir(tmp_path)
    assert str(tmp_path / "a" / "x.csv") in openings.files
    assert str(tmp_path / "x.csv") not in openings.files


def test_what_is_written_is_not_read(openings, tmp_path):
    (tmp_path / "new.csv").write_text("1")
    with (tmp_path / "new.csv").open("a") as file:
        file.write("2")
    descriptor = os.open(tmp_path / "other.csv", os.O_WRONLY | os.O_CREAT)
    os.close(descriptor)
    assert not [path for path in openings.files if path.startswith(str(tmp_path))]


def test_nothing_in_the_hook_lets_another_thread_go_first(openings):
    """A system call would: it gives the interpreter's lock away."""
    called = []

    def profile(_frame, event, argument):
        if event == "c_call":
            called.append(argument.__name__)

    gc.collect()
    gc.disable()  # other libraries are called when garbage is collected
    sys.setprofile(profile)
    try:
        opened.hook("open", ("x.csv", "r", 0))
    finally:
        sys.setprofile(None)
        gc.enable()
    assert set(called) <= {"isinstance", "endswith", "append", "len", "setprofile"}


def test_a_journal_is_no_data_wherever_it_lies(openings, tmp_path):
    theirs, ours = tmp_path / "rows.sqlite", tmp_path / "run" / "journal.sqlite"
    opened.leave_out(str(ours))
    for path in (theirs, ours):
        opened.hook("sqlite3.connect", (f"{path.as_uri()}?mode=rw",))
    assert [path for path in openings.files if openings.is_data(path)] == [str(theirs)]


def test_what_premortem_reads_of_its_own_is_no_data_in_a_checkout_either(openings):
    ours = Path(opened.__file__).parents[1] / "lint" / "data" / "torch.gz"
    assert ours.exists()
    assert not openings.is_data(str(ours))
