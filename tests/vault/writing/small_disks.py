"""Loops of saves on file systems that are nearly full, watched and alone."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests import starting

# Each round says how it went; the end is what a person would find there.
SCRIPT = """
import hashlib, json, os, shutil, sys
import torch
from safetensors.torch import save_file
torch.manual_seed(0)
way, folder = sys.argv[1], sys.argv[2]
model = torch.nn.Linear(100, 1060)  # 428 kB
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def save(number):
    state = {"model": model.state_dict(), "number": number}
    if way == "same":
        torch.save(state, f"{folder}/last.pt")
    elif way == "old format":
        torch.save(state, f"{folder}/last.pt", _use_new_zipfile_serialization=False)
    elif way == "growing":
        torch.save({**state, "pad": torch.zeros(4000 * number)}, f"{folder}/last.pt")
    elif way == "linked":
        if not os.path.islink(f"{folder}/latest.pt"):
            os.symlink("epoch.pt", f"{folder}/latest.pt")
        torch.save(state, f"{folder}/latest.pt")
    elif way == "new names":
        torch.save(state, f"{folder}/epoch{number}.pt")
        if number:
            os.remove(f"{folder}/epoch{number - 1}.pt")
    elif way == "removed first":
        if number:
            os.remove(f"{folder}/epoch{number - 1}.pt")
        torch.save(state, f"{folder}/epoch{number}.pt")
    elif way == "moved":
        torch.save(state, f"{folder}/last.tmp")
        os.replace(f"{folder}/last.tmp", f"{folder}/last.pt")
    elif way == "copied":
        torch.save(state, f"{folder}/last.pt")
        shutil.copy(f"{folder}/last.pt", f"{folder}/best.pt")
    elif way == "safetensors":
        save_file(model.state_dict(), f"{folder}/last.safetensors")
    elif way == "by hand":
        with open(f"{folder}/last.pt", "wb") as file:
            torch.save(state, file)
    elif way == "distributed":
        torch.distributed.checkpoint.save(model.state_dict(), checkpoint_id=f"{folder}/last")
    elif way == "with a log":
        torch.save(state, f"{folder}/last.pt")
        with open(f"{folder}/log.txt", "a") as file:
            file.write("x" * 4096)

if way == "distributed":
    import torch.distributed.checkpoint
said = []
for number in range(6):
    optimizer.zero_grad(); model(torch.randn(4, 100)).pow(2).mean().backward(); optimizer.step()
    try:
        save(number)
        said.append("saved")
    except BaseException as error:  # torch.distributed's is no Exception
        said.append(type(error).__name__)
there = {}
for path in sorted(os.listdir(folder)):
    whole = os.path.join(folder, path)
    if not path.startswith(".") and os.path.isfile(whole):
        there[path] = hashlib.sha256(open(whole, "rb").read()).hexdigest()
    elif not path.startswith(".") and os.path.isdir(whole):
        there[path] = sorted(os.listdir(whole))
loads = None
for name in ("last.pt", "latest.pt", "epoch5.pt"):
    if os.path.exists(f"{folder}/{name}"):
        try:
            loads = torch.load(f"{folder}/{name}")["number"]
        except Exception as error:
            loads = type(error).__name__
print(json.dumps({"said": said, "there": there, "loads": loads}))
"""
WAYS = (
    "same",
    "old format",
    "growing",
    "linked",
    "new names",
    "removed first",
    "moved",
    "copied",
    "safetensors",
    "by hand",
    "distributed",
    "with a log",
)


class Seen(NamedTuple):
    said: list[str]
    there: dict[str, Any]
    loads: Any
    findings: list[str]
    errors: str


@contextmanager
def disk(kilobytes: int) -> Iterator[Path | None]:
    """A real file system of this size; None where it cannot be had."""
    with tempfile.TemporaryDirectory(prefix="small-") as folder:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder],
            capture_output=True,
            check=False,
        )
        if made.returncode:
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def tried(way: str, kilobytes: int, work: Path, *, watched: bool, inside: bool = False) -> Seen | None:
    """One loop of saves on a new disk. `inside`: the run's own folder is on that disk too."""
    script, found = work / "train.py", work / "found.json"
    script.write_text(SCRIPT)
    found.unlink(missing_ok=True)
    with disk(kilobytes) as folder:
        if folder is None:
            return None
        ours = ["-m", "premortem", "run", "--findings", found] if watched else []
        done = starting.run(
            [sys.executable, *ours, script, way, folder], cwd=folder if inside else work, timeout=120
        )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    codes = [each["code"] for each in json.loads(found.read_text())["findings"]] if watched else []
    return Seen(seen["said"], seen["there"], seen["loads"], codes, done.stderr)


def compared(way: str, kilobytes: int, work: Path, *, inside: bool = False) -> list[str] | None:
    """What is worse in the watched loop; None where there are no disks to try."""
    alone = tried(way, kilobytes, work, watched=False)
    watched = tried(way, kilobytes, work, watched=True, inside=inside)
    if alone is None or watched is None:
        return None
    worse = []
    # After a save that failed a script finds another folder: alone a torn file, watched the old one or none.
    first = next((number for number, said in enumerate(alone.said) if said != "saved"), len(alone.said))
    if watched.said[: first + 1] != alone.said[: first + 1]:
        worse.append(f"{watched.said} instead of {alone.said}")
    same_bytes = way != "old format"  # which has addresses in it
    if set(alone.said) == {"saved"} and watched.there != alone.there and same_bytes:
        worse.append(f"{watched.there} instead of {alone.there}")
    if isinstance(watched.loads, str) and not isinstance(alone.loads, str):
        worse.append(f"it does not load: {watched.loads}")
    if [each for each in watched.there if ".partial-" in each]:
        worse.append("a draft is left")
    return worse
