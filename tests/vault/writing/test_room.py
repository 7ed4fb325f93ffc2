"""A full disk: fewer copies, then none, and never a torn file where a good one was."""

import io
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from premortem.actions.disk_space import Counting, in_place, set_aside, too_large
from premortem.journal import Journal, Run
from premortem.vault.kept_versions import Shelf
from tests import starting
from tests.vault.writing import small_disks

SCRIPT = """
import os, sys
import torch
model = torch.nn.Linear(500, 500)  # one megabyte
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
path = sys.argv[1] + "/last.pt"
for number in range(7):
    optimizer.zero_grad(); model(torch.randn(4, 500)).pow(2).mean().backward(); optimizer.step()
    try:
        torch.save({"model": model.state_dict(), "pad": torch.zeros(250_000 * number), "number": number}, path)
    except Exception as error:
        print("could not save", number, type(error).__name__)
    print(torch.load(path)["number"])
"""


@pytest.fixture
def small(tmp_path):
    """A real file system of six megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_fills_up_never_costs_the_last_good_file(tmp_path, small):
    (tmp_path / "train.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "premortem", "run", "--findings", "f.json", "train.py", str(small)]
    done = starting.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    # Six mebibytes hold each of the first six, alone; the last one is too large.
    assert done.stdout.splitlines() == ["0", "1", "2", "3", "4", "5", "could not save 6 RuntimeError", "5"]
    found = json.loads((tmp_path / "f.json").read_text())["findings"]
    assert [(each["code"], each["severity"], each["evidence"].get("also")) for each in found] == [
        ("PM329", "error", ["disk-too-full"])
    ]
    assert list(small.glob("*partial*")) == []


def test_what_will_be_written_is_counted(tmp_path):
    thing = {"a": torch.zeros(1000), "b": list(range(5000))}
    counting = Counting()
    torch.save(thing, counting)
    real = io.BytesIO()
    torch.save(thing, real)
    assert counting.bytes == len(real.getvalue())


def test_only_what_is_sure_not_to_fit_is_not_tried(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(b"old")
    assert not too_large(path, None)
    assert too_large(path, 1 << 60)
    assert not too_large(path, 100)
    assert not too_large(tmp_path / "absent.pt", 1 << 60)


def failing(path):
    def write():
        path.write_bytes(b"ha")
        raise OSError(28, "No space left on device")

    return write


@pytest.mark.parametrize("another", [True, False], ids=["from another disk", "from memory"])
def test_what_fails_in_place_is_put_back(small, tmp_path, another):
    path = small / "a.pt"
    path.write_bytes(b"old")
    run = tmp_path / "run" if another else small / "run"
    run.mkdir()
    with pytest.raises(OSError, match="No space"):
        in_place(path, failing(path), set_aside(path, Shelf(run)))
    assert path.read_bytes() == b"old"
    assert [each.read_bytes() for each in run.glob("kept/*/*.pt")] == ([b"old"] if another else [])


def test_a_first_save_that_fails_leaves_nothing(tmp_path):
    path = tmp_path / "a.pt"
    with pytest.raises(OSError, match="No space"):
        in_place(path, failing(path), set_aside(path, Shelf(tmp_path / "run")))
    assert not path.exists()


@pytest.mark.parametrize("inside", [False, True], ids=["another disk", "the same disk"])
@pytest.mark.parametrize(
    ("way", "kilobytes"), [("same", 440), ("with a log", 860), ("growing", 500), ("copied", 868)]
)
def test_a_nearly_full_disk_takes_what_it_takes_alone(tmp_path, way, kilobytes, inside):
    worse = small_disks.compared(way, kilobytes, tmp_path, inside=inside)
    if worse is None:
        pytest.skip("only root can mount a file system")
    assert worse == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("inside", [False, True], ids=["another disk", "the same disk"])
@pytest.mark.parametrize(
    "kilobytes", [*range(400, 460, 4), 500, 560, 700, *range(844, 900, 4), 1000, 1296, 1400]
)
@pytest.mark.parametrize("way", small_disks.WAYS)
def test_every_way_and_size(tmp_path, way, kilobytes, inside):
    worse = small_disks.compared(way, kilobytes, tmp_path, inside=inside)
    if worse is None:
        pytest.skip("only root can mount a file system")
    assert worse == []


LIMITED = """
import resource, sys
import torch
model = torch.nn.Linear(100, 1060)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(4):
    optimizer.zero_grad(); model(torch.randn(4, 100)).pow(2).mean().backward(); optimizer.step()
    if number == 2:
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, most))
    try:
        torch.save({"model": model.state_dict(), "number": number}, "last.pt")
        print("saved", number)
    except Exception as error:
        print(type(error).__name__, number)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
try:
    print(torch.load("last.pt")["number"])
except Exception as error:
    print(type(error).__name__)
"""


def test_where_a_file_may_not_grow_the_old_one_stays(tmp_path):
    """The version without a mount: a limit on the size of files."""
    (tmp_path / "train.py").write_text(LIMITED)
    alone = starting.run([sys.executable, "train.py"], cwd=tmp_path).stdout.splitlines()
    (tmp_path / "last.pt").unlink()
    words = [sys.executable, "-m", "premortem", "run", "--quiet", "train.py"]
    watched = starting.run(words, cwd=tmp_path).stdout.splitlines()
    assert alone[:4] == watched[:4] == ["saved 0", "saved 1", "RuntimeError 2", "RuntimeError 3"]
    assert (alone[4], watched[4]) == ("RuntimeError", "1")


def test_a_disk_that_says_it_is_full_gets_no_journal(tmp_path, monkeypatch):
    full = shutil.disk_usage(tmp_path)._replace(free=1_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: full)
    said = []
    journal = Journal.open(tmp_path / "run", meta={}, on_problem=said.append)
    assert not journal.keeps
    assert "1.0 MB left, which the script may need" in said[0]
    assert list((tmp_path / "run").iterdir()) == []


def test_a_journal_gives_way(tmp_path):
    journal = Journal.open(tmp_path / "run", meta={"argv": ["a"]}, on_problem=lambda _sentence: None)
    journal.note(more=1)
    kept = journal.give_way()
    assert list((tmp_path / "run").iterdir()) == []
    assert not journal.keeps
    if kept is not None:  # the temporary folder is on another disk here
        assert Run(kept).meta["more"] == 1
        shutil.rmtree(kept)
