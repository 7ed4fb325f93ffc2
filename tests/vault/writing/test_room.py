"""A full disk: fewer copies, then none, and never a torn file where a good one was."""

import io
import json
import os
import subprocess
import sys

import pytest
import torch

from premortem.actions.room import Counting, fits_in_place, in_place

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
    done = subprocess.run(
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


def test_a_file_of_unknown_size_is_not_risked(tmp_path):
    path = tmp_path / "a.pt"
    path.write_bytes(b"old")
    assert not fits_in_place(path, None)
    assert not fits_in_place(path, 1 << 60)
    assert fits_in_place(path, 100)
    assert not fits_in_place(tmp_path / "absent.pt", 100)


def test_what_fails_in_place_is_put_back_from_another_disk(small, tmp_path):
    path = small / "a.pt"
    path.write_bytes(b"old")

    def write(target):
        target.write_bytes(b"ha")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        in_place(path, write, tmp_path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["small"]
