"""What a run keeps of the files that its script saves: earlier versions, and what must not take their place.

    RUN/kept/best.pt-1f0c9a/000003-step-1200.pt     the version of step 1200, which was overwritten later ...
    RUN/kept/…/000003-step-1200.pt.manifest.json    ... where it lay, how large it is, when it was put aside
    RUN/quarantine/best.pt-1f0c9a/000004-step-1300.pt

A version is a hard link: it costs no time, and no room until the script's own file is another one. Where the run's
folder is on another file system, versions lie beside the file, in `.premortem`.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from premortem import private
from premortem.vault.atomic import claim, owner_is_dead
from premortem.vault.clerk import Clerk
from premortem.vault.manifest import FileRecord, HealthRecord, Manifest
from premortem.vault.mirror import SUFFIX

VERSIONS = 2  # earlier ones of each path
_ALL_ZERO = ("all of them",)  # what a look at the weights says instead of names, when all of them are zero
_SHARE = 0.25  # of the room that is left
_COPIED = 256 << 20  # bytes of a version that may be copied where it cannot be linked
_MOST = 64 << 30  # bytes of all versions together


class Shelf:
    """The files of one run. Paths are real ones: links are resolved by whoever asks."""

    def __init__(self, folder: Path, *, versions: int = VERSIONS, most: int = _MOST) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.clerk = Clerk()
        self._versions = versions
        self._most = most
        self._number = 0
        self.known: dict[Path, int | None] = {}  # saved in this run, and at which step
        self.poisoned: dict[Path, tuple[str, ...]] = {}  # the file itself is, because nothing good was there
        self.diverted: dict[
            Path, Path
        ] = {}  # what the script saved here lies there; here is the last good file
        self._kept: dict[Path, list[Path]] = {}  # oldest first
        self._left: dict[
            Path, Path
        ] = {}  # the version that an earlier run left at a path: it stays for the whole run

    def good_at(self, path: Path) -> bool:
        """Whether there is a file here that a poisoned one must not replace."""
        return path.exists() and path not in self.poisoned

    def keep(self, path: Path, *, copy: bool = False) -> Path | None:
        """Put the version that is at `path` aside, before another takes its place. None when that was not possible.

        `copy` is for a file that the script will rewrite in place, and its links with it."""
        if not path.exists() or path in self.poisoned:
            return None
        size = _size(path)
        if not self._fits(path, size):
            return None
        step = self.known.get(path)
        name = f"{'earlier' if step is None else f'step-{step}'}{path.suffix}"
        ways: list[tuple[Path, Callable[[Path, Path], object]]] = []
        if not copy:
            ways += [(self.folder, _link), (path.parent / ".premortem", _link)]
        if size <= _COPIED and path.is_file():  # file systems without links: FUSE, network drives
            ways.append((self.folder, private.copy))
        for home, put in ways:
            version = self._place(home, "kept", path, name)
            try:
                put(path, version)
            except OSError:
                _remove_empty(version.parent, home)
                continue
            claim(home / "kept")
            if home is not self.folder:
                _keep_out_of_git(home)
            self._kept.setdefault(path, []).append(version)
            if path not in self.known:
                self._left.setdefault(path, version)
            self._describe(version, path, step, size, HealthRecord())
            self._rotate(path)
            return version
        return None

    def divert(self, draft: Path, path: Path, step: int, poisoned: tuple[str, ...]) -> Path:
        """Put a poisoned file into quarantine; from now on it stands for `path` within the run. Raises OSError."""
        place = self._place(self.folder, "quarantine", path, f"step-{step}{path.suffix}")
        size = _size(draft)
        try:
            draft.replace(place)
        except OSError:  # another file system
            shutil.move(draft, place)
        private.close_off(place)
        zero = poisoned == _ALL_ZERO
        health = HealthRecord(False, [] if zero else list(poisoned), list(poisoned) if zero else [])
        self._describe(place, path, step, size, health)
        before = self.diverted.get(path)
        self.diverted[path] = place
        if before is not None and before not in self.diverted.values():
            _remove(before)  # only the newest is served, and one is enough to look into
        return place

    def published(self, path: Path, step: int | None, poisoned: tuple[str, ...] = ()) -> None:
        """A file took its place at `path`."""
        for version in self._kept.get(path, ()):
            private.close_off(version)  # by now it is the only name of what was there before
        self.known[path] = step
        self.diverted.pop(path, None)
        self.poisoned.pop(path, None)
        if poisoned:
            self.poisoned[path] = poisoned

    def moved(self, source: Path, target: Path) -> None:
        """The script renamed a file."""
        if source in self.known:
            self.known[target] = self.known.pop(source)
        for book in (self.poisoned, self.diverted):
            book.pop(target, None)
        if source in self.poisoned:
            self.poisoned[target] = self.poisoned.pop(source)
        if source in self.diverted:
            self.diverted[target] = self.diverted.pop(source)

    def make_room(self, near: Path) -> int:
        """Give up all versions on the disk of `near`. Returns how many."""
        device = _device(near)
        given = 0
        for versions in self._kept.values():
            for version in [each for each in versions if _device(each) == device]:
                _remove(version)
                versions.remove(version)
                given += 1
        return given

    def _fits(self, path: Path, size: int) -> bool:
        """Within the budget, once the oldest versions have gone; last of all what earlier runs left."""
        held = sum(_size(version) for versions in self._kept.values() for version in versions)
        room = min(self._most, int(_SHARE * (shutil.disk_usage(path.parent).free + held)))
        while held + size > room:
            left = set(self._left.values())
            oldest = min(
                (version for versions in self._kept.values() for version in versions),
                key=lambda version: (version in left, _age(version)),
                default=None,
            )
            if oldest is None:
                return False
            held -= _size(oldest)
            self._forget(oldest)
        return True

    def _rotate(self, path: Path) -> None:
        own = [version for version in self._kept[path] if version != self._left.get(path)]
        if len(own) == self._versions:
            self._forget_earlier_runs(path)
        for version in own[: -self._versions]:
            self._forget(version)

    def _forget_earlier_runs(self, path: Path) -> None:
        """Run after run would fill the disk. The newest that any of them left at this path stays."""
        rooms = [
            room
            for room in self.folder.parent.glob(f"*/kept/{slug(path)}")
            if room.parent.parent != self.folder and owner_is_dead(room.parent)
        ]
        left = [self._left[path]] if path in self._left else []
        left += [each for room in rooms for each in room.iterdir() if not each.name.endswith(SUFFIX)]
        newest = max(left, key=written_at, default=None)
        for room in rooms:
            if newest is None or newest.parent != room:
                shutil.rmtree(room, ignore_errors=True)
                continue
            for version in room.iterdir():
                if not version.name.startswith(newest.name):  # its manifest does
                    _remove(version)

    def _forget(self, version: Path) -> None:
        for versions in self._kept.values():
            if version in versions:
                versions.remove(version)
        self._left = {path: each for path, each in self._left.items() if each != version}
        _remove(version)

    def _place(self, home: Path, room: str, path: Path, name: str) -> Path:
        self._number += 1
        place = home / room / slug(path) / f"{self._number:06d}-{name}"
        private.make_folder(place.parent, within=home)
        return place

    def _describe(self, version: Path, path: Path, step: int | None, size: int, health: HealthRecord) -> None:
        files = {version.name: FileRecord("", size)}
        manifest = Manifest(
            step=step, time=time.time(), kind="kept", source=str(path), files=files, health=health
        )
        beside = version.with_name(version.name + SUFFIX)
        private.write_bytes(beside, manifest.render())
        if version.is_file():
            self.clerk.sign(version, beside)


def slug(path: Path) -> str:
    """A name for a folder about this path: readable, and another one for every path."""
    readable = re.sub(r"[^\w.-]", "_", path.name)[:80]
    return f"{readable}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:6]}"


def _link(path: Path, version: Path) -> None:
    if not path.is_dir():
        os.link(path, version)
        return
    shutil.copytree(path, version, copy_function=os.link)


def _remove(version: Path) -> None:
    if version.is_dir():
        shutil.rmtree(version, ignore_errors=True)
    with suppress(OSError):
        version.unlink(missing_ok=True)
    with suppress(OSError):
        version.with_name(version.name + SUFFIX).unlink(missing_ok=True)


def _remove_empty(folder: Path, home: Path) -> None:
    """Leave no trace of a folder that could not be used."""
    with suppress(OSError):  # not empty: somebody uses it
        while folder.is_relative_to(home):
            folder.rmdir()
            folder = folder.parent


def _size(path: Path) -> int:
    try:
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    except OSError:
        return 0


def written_at(version: Path) -> float:
    try:
        return version.stat().st_mtime
    except OSError:
        return 0.0


def _age(version: Path) -> int:
    return int(version.name.partition("-")[0])


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev if path.exists() else path.parent.stat().st_dev
    except OSError:
        return None


def _keep_out_of_git(home: Path) -> None:
    with suppress(OSError), private.opened(home / ".gitignore", "x") as file:
        file.write("*\n")
