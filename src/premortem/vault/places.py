"""Where checkpoints are: a folder here, or a mirror anywhere. Both are a set of names with sizes.

run/kept/best.pt-1f0c9a/000003-step-1200.pt     a file with its manifest beside it
vault/step-000001200/manifest.json              a folder with its manifest in it
epoch=3.ckpt, sharded/, dcp/                    files and folders that others wrote
"""

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from premortem.errors import PremortemError, UsageError, VaultError
from premortem.files import untrusted
from premortem.vault.blocks import Advance
from premortem.vault.remote import Remote, first_line

PASSED_BY = set(".git .hg .venv venv __pycache__ node_modules site-packages .tox .mypy_cache".split())
MOST_READ = 256 << 20  # bytes of a manifest or an index
_MOST = 200_000  # files; a home folder is not a place to look through


class Place(ABC):
    """A folder, here or away."""

    shown: str  # how a message calls it

    @property
    def title(self) -> str:
        """The last part of its address."""
        return (
            Path(self.shown).resolve().name
            if "://" not in self.shown
            else self.shown.rstrip("/").rpartition("/")[2]
        )

    @abstractmethod
    def names(self) -> dict[str, int]:
        """Every file below it and its size. Names have forward slashes."""

    @abstractmethod
    def some(self, wanted: tuple[str, ...]) -> dict[str, int]:
        """Those of these that are there, without looking through everything."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A small file."""

    @abstractmethod
    def bring(self, name: str, target: Path, advance: Advance) -> None:
        """Copy one file to `target`, which is ours to write to."""

    @abstractmethod
    def local(self, name: str) -> Path | None:
        """The path itself where it is on this machine."""

    @abstractmethod
    def written(self, name: str) -> float | None:
        """When it was written, where that is known without a manifest."""


class Here(Place):
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shown = str(folder)

    def names(self) -> dict[str, int]:
        found = {}
        for path in self._walk():
            try:
                about = path.stat()
            except OSError:
                continue  # gone meanwhile, or a link to nowhere
            if stat.S_ISREG(about.st_mode):  # reading a pipe would wait for ever
                found[path.relative_to(self._folder).as_posix()] = about.st_size
        return found

    def some(self, wanted: tuple[str, ...]) -> dict[str, int]:
        return {
            name: (self._folder / name).stat().st_size for name in wanted if (self._folder / name).exists()
        }

    def read(self, name: str) -> bytes:
        return untrusted.read(self._folder / name, MOST_READ)

    def bring(self, name: str, target: Path, advance: Advance) -> None:
        with untrusted.opened(self._folder / name) as source, target.open("wb") as copy:
            _pour(source, copy, advance)

    def local(self, name: str) -> Path | None:
        return self._folder / name

    def written(self, name: str) -> float | None:
        try:
            return (self._folder / name).stat().st_mtime
        except OSError:
            return None

    def _walk(self) -> Iterator[Path]:
        count = 0
        for folder, below, files in os.walk(self._folder):
            below[:] = sorted(each for each in below if each not in PASSED_BY and ".partial-" not in each)
            for name in sorted(files):
                count += 1
                if count > _MOST:
                    raise UsageError(
                        f"there are more than {_MOST:,} files in {self._folder}; name a smaller folder"
                    )
                yield Path(folder, name)


class Away(Place):
    """A mirror, wherever fsspec reaches."""

    def __init__(self, url: str) -> None:
        self._remote = Remote(url)
        self._remote.check()
        self.shown = self._remote.shown

    def is_file(self) -> bool:
        with self._in_one_line():
            return self._remote.is_file()

    def names(self) -> dict[str, int]:
        with self._in_one_line():
            try:
                return self._remote.names()
            except FileNotFoundError:
                return {}

    def some(self, wanted: tuple[str, ...]) -> dict[str, int]:
        return {name: size for name, size in self.names().items() if name in wanted}

    def read(self, name: str) -> bytes:
        with self._in_one_line():
            return self._remote.read(name, MOST_READ)

    def bring(self, name: str, target: Path, advance: Advance) -> None:
        with self._in_one_line(), self._remote.open(name) as source, target.open("wb") as copy:
            _pour(source, copy, advance)

    def local(self, name: str) -> Path | None:
        return None

    def written(self, name: str) -> float | None:
        return None

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        """The libraries raise whatever they like; a person gets one sentence."""
        try:
            yield
        except PremortemError:
            raise
        except Exception as error:
            raise VaultError(f"{self.shown} cannot be read ({first_line(error)})") from error


def place_of(where: str) -> tuple[Place, str]:
    """The place, and the one thing in it that was named ("" for all of it). Raises UsageError."""
    if "://" in where:
        above, _, name = where.rstrip("/").rpartition("/")
        return (Away(above), name) if Away(where).is_file() else (Away(where), "")
    path = Path(where)
    if not path.exists():
        raise UsageError(f"`{where}` does not exist")
    if not path.is_dir():
        try:
            untrusted.opened(path).close()
        except OSError as error:
            raise UsageError(f"`{where}` cannot be read ({untrusted.why(error)})") from None
    return (Here(path.parent), path.name) if path.is_file() else (Here(path), "")


def _pour(source: Any, target: Any, advance: Advance) -> None:
    while block := source.read(1 << 20):
        target.write(block)
        advance(len(block))
