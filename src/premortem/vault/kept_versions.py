"""What a run keeps of the files that its script saves: earlier versions, and what must not take their place.

    RUN/kept/best.pt-1f0c9a/000003-step-1200.pt     the version of step 1200, which was overwritten later ...
    RUN/kept/…/000003-step-1200.pt.manifest.json    ... where it lay, how large it is, when it was put aside
    RUN/quarantine/best.pt-1f0c9a/000004-step-1300.pt

A version is a hard link: it costs no time, and no room until the script's own file is another one. Where the run's
folder is on another file system, versions lie beside the file, in `.premortem`.
"""

import hashlib
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from premortem.errors import VaultError
from premortem.files import private
from premortem.vault.atomic import claim, draft_beside, owner_is_dead
from premortem.vault.background_work import Clerk
from premortem.vault.manifest import FileRecord, HealthRecord, Manifest, saved_at
from premortem.vault.mirror import SUFFIX

VERSIONS = 2  # earlier ones of each path
_ALL_ZERO = ("all of them",)  # what a look at the weights says instead of names, when all of them are zero
_SHARE = 0.25  # of the room that is left
_COPIED = 256 << 20  # bytes of a version that may be copied where it cannot be linked
_MOST = 64 << 30  # bytes of all versions together
SPARE = 16 << 20  # bytes; on a disk with less room than that, what is there is the script's

Put = Callable[[Path, Path], object]


class Shelf:
    """The files of one run. Paths are real ones: the caller resolves links."""

    def __init__(self, folder: Path, *, versions: int = VERSIONS, most: int = _MOST) -> None:
        self.folder = folder
        self.lock = threading.RLock()  # around whatever adds or removes files here
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

    def shared(self, path: Path, known: os.stat_result) -> bool:
        """Whether a file has another name that is not one of ours."""
        if known.st_nlink < 2:
            return False
        rooms = (self.folder.parent.glob("*/*/*/*"), (path.parent / ".premortem").glob("*/*/*"))
        ours = 0
        for version in {each for room in rooms for each in room}:  # also what a run that was killed has left
            with suppress(OSError):
                ours += os.path.samestat(version.stat(), known)
        return known.st_nlink - ours > 1

    def keep(self, path: Path, *, copy: bool = False) -> Path | None:
        """Put the version that is at `path` aside, before another takes its place. None when that was not possible.

        `copy` is for a file that the script will rewrite in place, and its links with it."""
        if not path.exists() or path in self.poisoned:
            return None
        size = size_of(path)
        if not self._fits(path, size):
            return None
        ways: list[tuple[Path, Put]] = []
        if not copy:
            ways += [(self.folder, _link), (path.parent / ".premortem", _link)]
        if size <= _COPIED and path.is_file():  # file systems without links: FUSE, network drives
            ways.append((self.folder, private.copy))
        return self._keep(path, size, ways)

    def keep_on_another_disk(self, path: Path) -> Path | None:
        """A copy of what is at `path`, where it takes no room from the next one. None when that was not possible."""
        if path in self.poisoned or _device(path) == _device(self.folder):
            return None
        size = size_of(path)
        try:
            if shutil.disk_usage(self.folder).free < 2 * size + SPARE:
                return None
        except OSError:
            return None
        return self._keep(path, size, [(self.folder, shutil.copytree if path.is_dir() else private.copy)])

    def _keep(self, path: Path, size: int, ways: list[tuple[Path, Put]]) -> Path | None:
        step = self.known.get(path)
        name = f"{'earlier' if step is None else f'step-{step}'}{path.suffix}"
        for home, put in ways:
            try:
                version = self._place(home, "kept", path, name)
            except OSError:
                continue
            draft = draft_beside(version)  # a copy that is cut off must not look like a version
            try:
                put(path, draft)
                claim(home / "kept")
                draft.replace(version)
            except OSError:
                _remove(draft)
                _remove_empty(version.parent, home)
                continue
            if home is not self.folder:
                private.keep_out_of_git(home)
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
        size = size_of(draft)
        try:
            draft.replace(place)
        except OSError:  # another file system
            here = draft_beside(place)
            shutil.move(draft, here)
            here.replace(place)
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
        """Give up all versions on the disk of `near`, those of earlier runs too. Returns how many."""
        device = _device(near)
        given = 0
        with self.lock:
            for versions in self._kept.values():
                for version in [each for each in versions if _device(each) == device]:
                    _remove(version)
                    versions.remove(version)
                    given += 1
            for room in self._rooms_of_earlier_runs(near):
                if _device(room) == device:
                    given += len(_versions(room))
                    _clear(room)
        return given

    def mind_the_room(self) -> int:
        """Where a disk is nearly full, earlier versions leave it to the script. Returns how many went."""
        given = 0
        for path in list(self._kept):
            try:
                if self._kept[path] and shutil.disk_usage(path.parent).free < SPARE:
                    given += self.make_room(path)
            except OSError:
                continue
        return given

    def _rooms_of_earlier_runs(self, near: Path) -> list[Path]:
        runs = [*self.folder.parent.glob("*/kept"), near.parent / ".premortem" / "kept"]
        others = [
            kept for kept in runs if kept.parent != self.folder and kept.is_dir() and owner_is_dead(kept)
        ]
        return [room for kept in others for room in kept.iterdir() if room.is_dir()]

    def _fits(self, path: Path, size: int) -> bool:
        """Within the budget, once the oldest versions have gone; last of all what earlier runs left."""
        held = sum(size_of(version) for versions in self._kept.values() for version in versions)
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
            held -= size_of(oldest)
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
            if room.parent.parent != self.folder and not linked(room) and owner_is_dead(room.parent)
        ]
        left = [self._left[path]] if path in self._left else []
        left += [each for room in rooms for each in _versions(room)]
        newest = max(left, key=written_at, default=None)
        for room in rooms:
            if newest is None or newest.parent != room:
                _clear(room)
                continue
            for version in _versions(room):
                if version != newest:
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
            step=step, time=time.time(), kind="kept", files=files, health=health, **saved_at(path)
        )
        beside = version.with_name(version.name + SUFFIX)
        with suppress(VaultError):  # a version without a manifest is whole, too
            manifest.write(beside, durable=False, ours=True)
        if version.is_file():
            self.clerk.sign(version, beside, self.lock)


def slug(path: Path) -> str:
    """A name for a folder about this path: readable, and another one for every path."""
    readable = re.sub(r"[^\w.-]", "_", path.name)[:80]
    return f"{readable}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:6]}"


def linked(room: Path) -> bool:
    """Whether RUN/kept/SLUG leads elsewhere. A run that came from elsewhere may hold such links; files there are not its own."""
    return any(each.is_symlink() for each in (room, *room.parents[:2]))


def _link(path: Path, version: Path) -> None:
    if not path.is_dir():
        os.link(path, version)
        return
    shutil.copytree(path, version, copy_function=os.link)


def _versions(room: Path) -> list[Path]:
    return [
        each for each in room.iterdir() if not each.name.endswith(SUFFIX) and ".partial-" not in each.name
    ]


def _clear(room: Path) -> None:
    for version in _versions(room):
        _remove(version)
    shutil.rmtree(room, ignore_errors=True)


def _remove(version: Path) -> None:
    """Its manifest first: a process that is killed in between must not leave a manifest without its file."""
    with suppress(OSError):
        version.with_name(version.name + SUFFIX).unlink(missing_ok=True)
    if version.is_dir():
        shutil.rmtree(version, ignore_errors=True)
    with suppress(OSError):
        version.unlink(missing_ok=True)


def _remove_empty(folder: Path, home: Path) -> None:
    """Leave no trace of a folder that could not be used."""
    with suppress(OSError):  # not empty: it is in use
        while folder.is_relative_to(home):
            folder.rmdir()
            folder = folder.parent


def size_of(path: Path) -> int:
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
