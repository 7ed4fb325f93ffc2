"""Every run has a folder of its own, also when two start in the same instant."""

import os
import shutil
import tempfile
import time
from itertools import count
from pathlib import Path

from premortem.files import private
from premortem.journal import schema

HOME = Path(".premortem")
STAMP = "%Y%m%dT%H%M%SZ"  # when a run began, as its folder's name begins
SPARE = 16 << 20  # bytes; on a disk with less room nothing of ours is written


def default_folder(name: str) -> Path:
    """A new folder for a run of `name` under the current one, or where there is room for it. Raises OSError."""
    home = _with_room(Path.cwd()) / HOME
    runs = private.make_folder(home / "runs", within=home)
    private.keep_out_of_git(runs.parent)
    stamp = time.strftime(STAMP, time.gmtime())
    return _make(runs / f"{stamp}-{name}-{os.getpid()}", first=1)


def _with_room(folder: Path) -> Path:
    """On a disk that is nearly full all that is left is the script's."""
    place = Path(tempfile.gettempdir())
    if shutil.disk_usage(folder).free >= SPARE or shutil.disk_usage(place).free < SPARE:
        return folder
    return Path(tempfile.mkdtemp(prefix="premortem-run-", dir=place))


def claim_folder(folder: Path) -> Path:
    """`folder` when it holds no journal yet, else a new `run-2`, `run-3`, ... in it. Raises OSError."""
    folder = Path.cwd() / folder
    private.make_folder(folder)
    try:
        # The empty file is the claim: of two runs that start together only one can make it.
        os.close(os.open(folder / schema.FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, private.FILE))
    except FileExistsError:
        return _make(folder / "run", first=2)
    return folder


def rank_folder(chosen: Path | None, name: str, rank: int) -> tuple[Path, Path]:
    """The folder that all ranks share, and this rank's own in it. `name` is the same for all. Raises OSError."""
    shared = Path.cwd() / (chosen or HOME / "runs" / name)
    private.make_folder(shared, within=Path.cwd() / HOME)
    if chosen is None:
        private.keep_out_of_git(shared.parent.parent)
    return shared, claim_folder(shared / f"rank-{rank}")


def _make(base: Path, first: int) -> Path:
    for number in count(first):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        try:
            folder.mkdir(private.FOLDER)
        except FileExistsError:
            continue
        return folder
    raise AssertionError  # count() does not end
