"""The folder of a vault: which checkpoints are in it, and which may go.

    FOLDER/step-000001200/          whole, verified, healthy
    FOLDER/quarantine/step-…/       whole, and its weights are not finite; the newest one only
    FOLDER/.spool/                  on its way to the mirror

A full disk costs old checkpoints, one after the other, but never the last good one, and never what is being written.
What was there before a vault's first save, and was not resumed from, is another run's: it does not count, and stays.

    FOLDER/earlier/step-…/          another run's, whose name was wanted; `premortem.resume("FOLDER/earlier", …)`
"""

import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from premortem import redaction
from premortem.errors import VaultError
from premortem.vault.atomic import draft_beside, no_room, sweep
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.mirror import Mirror
from premortem.vault.opening import PREFIX, folders, number_of
from premortem.vault.retention import Best, Kept, Retention, under_pressure

QUARANTINE = "quarantine"
EARLIER = "earlier"
SPOOL = ".spool"
_MARGIN = 1.02  # a file system needs room for names and blocks too


class Archive:
    """The checkpoints of one vault on the disk."""

    def __init__(self, folder: Path, retention: Retention, best: Best | None, mirror: Mirror | None) -> None:
        self.folder = folder
        self.retention = retention
        self.best = best
        self.mirror = mirror
        self._known: dict[str, Kept] = {}
        self._resumed = False
        self._begun = False  # a first save was asked for ...
        self._wrote = False  # ... and a healthy one is there: from now on older ones may go
        self._foreign: set[str] = set()  # of another run
        self._damaged: set[str] = set()  # a resume has read them: their manifests promise too much
        self._gone: list[tuple[str, list[str]]] = []  # deleted here; over there when nothing is on its way
        sweep(folder)

    def place(self, step: int, *, healthy: bool) -> Path:
        home = self.folder if healthy else self.folder / QUARANTINE
        return home / f"{PREFIX}{step:09d}"

    def resumed(self, damaged: set[str]) -> None:
        """Training goes on from here: all that is there is this run's."""
        self._resumed = True
        self._foreign = set()
        self._damaged |= damaged

    def begin(self, place: Path) -> None:
        """Before each write at `place`. Another run's checkpoints are counted once, and one that is in the way is moved."""
        if not self._begun:
            self._begun = True
            self._foreign = set() if self._resumed else {each.name for each in folders(self.folder)}
            if self._foreign:
                say(_left_alone(len(self._foreign), self.folder))
        if place.parent == self.folder and place.name in self._foreign:
            moved = _free_name(self.folder / EARLIER / place.name)
            moved.parent.mkdir(exist_ok=True)
            place.rename(moved)
            self._foreign.discard(place.name)
            self._known.pop(place.name, None)
            say(f"{place.name} of the earlier run was moved to {moved.parent}; this run has the same step.")

    def _ours(self) -> list[Kept]:
        return [each for each in self.kept() if each.name not in self._foreign]

    def kept(self) -> list[Kept]:
        """What is there, oldest first. What has no valid manifest is not there."""
        waiting = self._waiting()
        found = []
        for path in folders(self.folder):
            if path.name not in self._known:
                try:
                    self._known[path.name] = _kept(path.name, Manifest.read(path / NAME))
                except VaultError:
                    continue
            known = self._known[path.name]
            found.append(
                replace(
                    known,
                    mirrored=path.name not in waiting,
                    healthy=known.healthy and path.name not in self._damaged,
                )
            )
        return sorted(found, key=lambda each: (each.time, each.step))

    def best_path(self) -> Path | None:
        ranked = self.best.ranked(self._ours()) if self.best is not None else []
        return self.folder / ranked[0].name if ranked else None

    def written(self, path: Path, manifest: Manifest) -> None:
        """A checkpoint has its name: send it to the mirror, and let go of what is too many."""
        if path.parent.name == QUARANTINE:
            names = ", ".join(f"`{name}`" for name in manifest.health.non_finite[:3])
            say(
                f"Step {manifest.step}: {names} not finite. The checkpoint went to {path}; the last good one stays."
            )
            for old in folders(path.parent):
                if old != path:
                    shutil.rmtree(old, ignore_errors=True)
            return
        self._known[path.name] = _kept(path.name, manifest)
        self._damaged.discard(path.name)
        self._wrote = True
        if self.mirror is not None:
            try:
                self.mirror.put(path, path.name)
            except (VaultError, OSError) as error:
                say(f"{path.name} is not on its way to the mirror: {error}")
        self.rotate()

    def rotate(self, wait: float = 0.0) -> None:
        if self._wrote:
            for each in self.retention.surplus(self._ours(), self.best):
                self._delete(each)
        self._forget_there(wait)

    def _forget_there(self, wait: float) -> None:
        """Let the mirror go on without what was deleted here, when it has all that is to stay.

        On a thread of its own: a server that does not answer must not hold up the next save."""
        if not self._gone or self.mirror is None or self._waiting():
            return
        gone, self._gone = self._gone, []
        thread = threading.Thread(
            target=_remove, args=(self.mirror, gone), name="premortem-forget", daemon=True
        )
        thread.start()
        if wait:
            thread.join(wait)

    def with_room(self, size: int, write: Callable[[], Manifest], *, worth: bool) -> Manifest:
        """Write. When there is no room for what is `worth` it, give up old checkpoints until there is.

        When all of them together are too small, they stay, and so does what is on its way to
        the mirror, which holds on to its bytes. Raises VaultError."""
        given: set[str] = set()
        while True:
            spare = [each for each in under_pressure(self._ours(), self.best) if worth and each.mirrored]
            if given & {each.name for each in spare}:
                raise VaultError(f"{self.folder} is full, and nothing in it can be deleted")
            free = self._free()
            lacking = free is not None and free < size * _MARGIN
            try:
                if not lacking:
                    return write()
            except VaultError as error:
                if not no_room(error):
                    raise
                problem = str(error)
            else:
                problem = f"there is no room for {size / 1e6:,.1f} MB in {self.folder}"
                if (free or 0) + sum(each.bytes for each in spare) < size * _MARGIN:
                    spare = []
            if not spare:
                raise VaultError(f"{problem}; the checkpoints that are there stay")
            say(
                f"The disk is full. {spare[0].name} is given up for a newer checkpoint; fewer copies are kept."
            )
            given.add(spare[0].name)
            self._delete(spare[0])

    def _free(self) -> int | None:
        with suppress(OSError):
            return shutil.disk_usage(self.folder).free
        return None

    def _delete(self, kept: Kept) -> None:
        path = self.folder / kept.name
        files = [each.name for each in path.iterdir()] if path.is_dir() else []
        # Renamed it is a draft: gone at once, however long the rest takes, and swept later if the process is killed meanwhile.
        aside = draft_beside(path)
        with suppress(OSError):
            path.rename(aside)
        for left in (aside, path):
            shutil.rmtree(left, ignore_errors=True)
        self._known.pop(kept.name, None)
        if self.mirror is not None:
            self._gone.append((kept.name, files))

    def _waiting(self) -> set[str]:
        """What the mirror has not confirmed."""
        if self.mirror is None:
            return set()
        with suppress(OSError):
            return {
                each.name.partition("-")[2] for each in self.mirror.spool.iterdir() if number_of_job(each)
            }
        return set()


def _remove(mirror: Mirror, gone: list[tuple[str, list[str]]]) -> None:
    for name, files in gone:
        # Its manifest first: what is left when this is interrupted is not a checkpoint any more.
        for file in sorted(files, key=lambda each: each != NAME):
            with suppress(Exception):  # an extra copy does no harm
                mirror.remote.remove(f"{name}/{file}")


def number_of_job(path: Path) -> bool:
    return (
        path.name.partition("-")[0].isdecimal() and number_of(Path(path.name.partition("-")[2])) is not None
    )


def say(sentence: str) -> None:
    """Print a message on stderr. Never stops the run."""
    with suppress(Exception):
        print(f"premortem: {redaction.redacted(sentence)}", file=sys.stderr, flush=True)  # noqa: T201


def _left_alone(count: int, folder: Path) -> str:
    several = count > 1
    return (
        f"{folder} holds {count} checkpoint{'s' * several} of an earlier run, and this one did not resume from "
        f"{'them' if several else 'it'}. {'They stay' if several else 'It stays'}, besides what this run keeps. "
        "Call vault.resume(…) before the first save to go on from there, or delete the folder's step-… to clear it."
    )


def _free_name(path: Path) -> Path:
    """`earlier/step-…`, or `earlier-2/step-…` where a run before has left one."""
    home, number = path.parent, 1
    while path.exists():
        number += 1
        path = home.with_name(f"{home.name}-{number}") / path.name
    return path


def _kept(name: str, manifest: Manifest) -> Kept:
    return Kept(
        name,
        manifest.step or 0,
        manifest.time,
        manifest.size,
        healthy=manifest.health.ok,
        metrics=manifest.metrics,
    )
