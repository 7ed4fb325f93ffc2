"""A rehearsed script that makes its data folder once more still finds what is in it."""

import subprocess
import sys

SCRIPT = """
import glob, os, sys
from pathlib import Path
from premortem.proof.overlay import Overlay

data, scratch = Path(sys.argv[1]), Path(sys.argv[2])
overlay = Overlay(scratch)
overlay.install()
os.makedirs(data, exist_ok=True)
(data / "new.txt").write_text("new")
(data / "old.txt").write_text("changed")
assert sorted(os.listdir(data)) == ["new.txt", "old.txt", "other.txt"], os.listdir(data)
assert sorted(path.name for path in data.glob("*.txt")) == ["new.txt", "old.txt", "other.txt"]
with os.scandir(data) as entries:
    assert len({entry.name for entry in entries}) == 3
assert sorted(os.path.basename(path) for path in glob.glob(f"{data}/o*.txt")) == ["old.txt", "other.txt"]
assert (data / "old.txt").read_text() == "changed"
"""


def test_a_folder_holds_what_was_there_and_what_was_written(tmp_path):
    data, scratch = tmp_path / "data", tmp_path / "scratch"
    data.mkdir()
    scratch.mkdir()
    (data / "old.txt").write_text("old")
    (data / "other.txt").write_text("other")
    words = [sys.executable, "-c", SCRIPT, str(data), str(scratch)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in data.iterdir()) == ["old.txt", "other.txt"]
    assert (data / "old.txt").read_text() == "old"
