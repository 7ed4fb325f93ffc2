"""Files and folders of a run, which are its owner's alone: 0600 and 0700, less what the umask takes away.

The umask itself is never changed: it is the whole process's, and the script must not notice. So each file is made with
its rights, and is never open to others for a moment.
"""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

FILE = 0o600
FOLDER = 0o700


def opened(path: Path | str, mode: str = "w", **how: Any) -> IO[Any]:
    """As `open`. A file that is there keeps its rights."""
    return open(path, mode, opener=_opener, **how)


def write_text(path: Path, text: str) -> None:
    if str(path) == "-":
        sys.stdout.write(text)
        return
    with opened(path, encoding="utf-8") as file:
        file.write(text)


def write_bytes(path: Path, content: bytes) -> None:
    with opened(path, "wb") as file:
        file.write(content)


def replace_text(path: Path, text: str) -> None:
    """A whole file at every moment. One that was there before keeps its rights. Raises OSError; then nothing has changed."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_text(draft, text)
        with suppress(FileNotFoundError):
            draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def make_folder(path: Path, *, within: Path | None = None) -> Path:
    """Make a folder, with those above it that are missing. Those below `within`, and it, are private as well.

    Raises OSError. A folder that is there keeps its rights."""
    ours = [above for above in path.parents if within is not None and above.is_relative_to(within)]
    for folder in reversed(ours):
        _make(folder)
    _make(path)
    return path


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    try:
        folder.mkdir(FOLDER)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(FOLDER, exist_ok=True)
    except FileExistsError:  # another process was quicker
        if not folder.is_dir():
            raise


def keep_out_of_git(folder: Path) -> None:
    """The way pytest and ruff do it: the folder ignores itself."""
    with suppress(OSError), opened(folder / ".gitignore", "x") as file:  # there already, or not ours to write
        file.write("*\n")


def close_off(path: Path) -> None:
    """Removes the rights of others from a file, or from all of a folder, that a library has written.

    A file with two names is the script's too, and keeps the rights that the script gave it."""
    everything = [path, *path.rglob("*")] if path.is_dir() else [path]
    for each in everything:
        with suppress(OSError):
            known = each.lstat()
            rights = known.st_mode & 0o7777
            wanted = rights & (FOLDER if stat.S_ISDIR(known.st_mode) else FILE)
            alone = stat.S_ISDIR(known.st_mode) or (stat.S_ISREG(known.st_mode) and known.st_nlink == 1)
            if alone and rights != wanted:
                each.chmod(wanted)


def copy(source: Path, target: Path) -> None:
    """The bytes of a file, in one of our own."""
    with source.open("rb") as old, opened(target, "wb") as new:
        while block := old.read(1 << 20):
            new.write(block)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, FILE)
