"""A disk that is full, broken or read-only in the middle of a save: is the last good checkpoint still there?

The file system is a small tmpfs in a mount namespace of its own, where the kernel allows that; the error of a broken
disk is injected at fsync.
"""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_ROOM = 24 << 20
TROUBLE = ("ENOSPC", "EIO", "read-only")


def disks(times: int, scratch: Path) -> dict[str, Any]:
    """Each trouble so many times, for a script under `run` and for the Vault."""
    script = Path(__file__).resolve()
    mount = scratch / "disk"
    mount.mkdir()
    command = [sys.executable, str(script), str(mount), str(times)]
    whole = ["unshare", "-rm", *command]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(script.parents[1]), *sys.path])),
    }
    done = subprocess.run(whole, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"problem": (done.stderr.strip().splitlines() or ["no mount namespaces here"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


# --- inside of the namespace -----------------------------------------------------------------


def mounted(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_ROOM}", "tmpfs", str(folder)], check=True)


def remounted(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)


class Trouble:
    """While it is entered, the disk is as named."""

    def __init__(self, kind: str, folder: Path, dice: random.Random, checkpoint: int) -> None:
        self.kind, self.folder, self.dice, self.checkpoint = kind, folder, dice, checkpoint
        self._fsync = os.fsync

    def __enter__(self) -> None:
        if self.kind == "ENOSPC":
            space = os.statvfs(self.folder)
            left = self.dice.randrange(int(0.9 * self.checkpoint))  # room for a part of the next one
            with (self.folder / "filler").open("wb") as filler:
                filler.write(b"\0" * max(0, space.f_bavail * space.f_frsize - left))
        elif self.kind == "read-only":
            remounted(self.folder, "ro")
        else:
            os.fsync = self._broken

    def _broken(self, descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def __exit__(self, *_: object) -> None:
        os.fsync = self._fsync
        if self.kind == "read-only":
            remounted(self.folder, "rw")
        (self.folder / "filler").unlink(missing_ok=True)


def of_the_vault(folder: Path, kind: str, dice: random.Random) -> bool:
    import premortem
    from checkpoint.kills import model_of, version_in

    keeper = premortem.Vault(folder / "vault", keep=1, asynchronous=bool(dice.randrange(2)))
    place = keeper.save(1, model=model_of(1)).wait()
    assert place is not None
    size = sum(path.stat().st_size for path in place.iterdir())
    with Trouble(kind, folder, dice, size):
        try:
            keeper.save(2, model=model_of(2)).wait()
            newest = 2
        except Exception:  # noqa: BLE001 - what it raises is for the caller; what is left counts
            newest = 1
        keeper.wait()
    model = model_of(0)
    premortem.Vault(folder / "vault", keep=1).resume(model=model, quiet=True, rng=False)
    return version_in(model.state_dict()) == newest


def of_a_script(folder: Path, kind: str, dice: random.Random) -> bool:
    """The save of the script fails, as it would without premortem, and the old file is what it was."""
    import torch

    from checkpoint.kills import SIDE, version_in

    script = folder / "train.py"
    script.write_text(
        "import torch, sys\n"
        "from checkpoint.disks import Trouble, dice_of\n"
        "from pathlib import Path\n"
        f"save = lambda v: torch.save({{str(i): torch.full(({SIDE}, {SIDE}), float(v)) for i in range(3)}}, 'last.pt')\n"
        "save(1)\n"
        f"with Trouble({kind!r}, Path({str(folder)!r}), dice_of({dice.randrange(1 << 30)}), 3 << 20):\n"
        "    try:\n"
        "        save(2)\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error)\n"
        "        sys.exit(0)\n"
        "print('written')\n"
    )
    with tempfile.TemporaryDirectory() as journal:  # not on the disk that fails
        command = [
            sys.executable,
            "-m",
            "premortem",
            "run",
            "--quiet",
            "--folder",
            f"{journal}/run",
            "train.py",
        ]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    version = version_in(torch.load(folder / "last.pt", weights_only=True))
    return version == (2 if "written" in done.stdout else 1)


def dice_of(seed: int) -> random.Random:
    return random.Random(seed)


def main(folder: Path, times: int) -> None:
    dice = random.Random(0)
    survived = {}
    for kind in TROUBLE:
        count = 0
        for number in range(times):
            mounted(folder)
            try:
                count += (
                    of_a_script(folder, kind, dice) if number % 4 == 0 else of_the_vault(folder, kind, dice)
                )
            finally:
                subprocess.run(["umount", "-l", str(folder)], check=True)
        survived[kind] = {"saves": times, "survived": count}
    sys.stdout.write("\n" + json.dumps(survived) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
