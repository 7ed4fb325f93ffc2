"""The folder of a vault: which checkpoints are in it, and which may go.

    FOLDER/step-000001200/          whole, verified, healthy
    FOLDER/quarantine/step-…/       whole, and its weights are not finite; the newest one only
    FOLDER/.spool/                  on its way to the mirror

A full disk costs old checkpoints, one after the other, but never the last good one, and never what is being written.
"""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from premortem.errors import VaultError
from premortem.vault.atomic import no_room, sweep
from premortem.vault.manifest import NAME, Manifest
from premortem.vault.mirror import Mirror
from premortem.vault.opening import PREFIX, folders, number_of
from premortem.vault.retention import Best, Kept, Retention, under_pressure

QUARANTINE = "quarantine"
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
        self._gone: list[tuple[str, list[str]]] = []  # deleted here; over there when nothing is on its way
        sweep(folder)

    def place(self, step: int, *, healthy: bool) -> Path:
        home = self.folder if healthy else self.folder / QUARANTINE
        return home / f"{PREFIX}{step:09d}"

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
            found.append(replace(self._known[path.name], mirrored=path.name not in waiting))
        return sorted(found, key=lambda each: (each.time, each.step))

    def best_path(self) -> Path | None:
        ranked = self.best.ranked(self.kept()) if self.best is not None else []
        return self.folder / ranked[0].name if ranked else None

    def written(self, path: Path, manifest: Manifest) -> None:
        """A checkpoint has its name: send it to the mirror, and let go of what is too many."""
        if path.parent.name == QUARANTINE:
            for old in folders(path.parent):
                if old != path:
                    shutil.rmtree(old, ignore_errors=True)
            return
        self._known[path.name] = _kept(path.name, manifest)
        if self.mirror is not None:
            try:
                self.mirror.put(path, path.name)
            except (VaultError, OSError) as error:
                say(f"{path.name} is not on its way to the mirror: {error}")
        self.rotate()

    def rotate(self, wait: float = 0.0) -> None:
        for each in self.retention.surplus(self.kept(), self.best):
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

        None is given up in vain: when all of them together are too small, they stay, and so does what is on its way to
        the mirror, which holds on to its bytes. Raises VaultError."""
        given: set[str] = set()
        while True:
            spare = [each for each in under_pressure(self.kept(), self.best) if worth and each.mirrored]
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
        # Without its manifest it is no checkpoint: it is gone in one move, however long the rest takes.
        with suppress(OSError):
            (path / NAME).unlink()
        shutil.rmtree(path, ignore_errors=True)
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
        # Its manifest first: what is left over when this breaks off is no checkpoint any more.
        for file in sorted(files, key=lambda each: each != NAME):
            with suppress(Exception):  # a copy too many harms nobody
                mirror.remote.remove(f"{name}/{file}")


def number_of_job(path: Path) -> bool:
    return (
        path.name.partition("-")[0].isdecimal() and number_of(Path(path.name.partition("-")[2])) is not None
    )


def say(sentence: str) -> None:
    """To whoever looks at the run. Never stops it."""
    with suppress(Exception):
        print(f"premortem: {sentence}", file=sys.stderr, flush=True)  # noqa: T201


def _kept(name: str, manifest: Manifest) -> Kept:
    return Kept(
        name,
        manifest.step or 0,
        manifest.time,
        manifest.size,
        healthy=manifest.health.ok,
        metrics=manifest.metrics,
    )
