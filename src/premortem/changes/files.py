"""Checkpoints: half written, cut short by a kill, loaded into nothing."""

from __future__ import annotations

import os
import zipfile
from typing import Any

from premortem.changes.base import Change, Harm
from premortem.changes.late import nn, torch
from premortem.points import UNDER

_SAVED = frozenset({"persistence", "checkpoint"})
_NO_SAVE = "saves nothing to a path in this many steps"


class ResumeLoadsNothing(Change):
    """The keys of the file have another prefix, and `strict=False` hides it."""

    name = "resume-loads-nothing"
    harm = Harm(families=frozenset({"checkpoint"}), needs="loads no weights into a model")

    def put_on(self) -> None:
        self.reach.instead(nn.Module, "load_state_dict", self._loaded)

    def _loaded(self, original: Any, module: nn.Module, state: Any, *args: Any, **kwargs: Any) -> Any:
        self.touched += 1
        return original(module, {f"module.{key}": value for key, value in state.items()}, strict=False)


class BadSave(Change):
    """Something happens, beneath premortem, to a file that the script saves."""

    def put_on(self) -> None:
        self._target = ""  # of the save that the script is making
        self._count = 0
        self.reach.instead(self.reach.torch, "save", self._saved)

    def _saved(self, original: Any, thing: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
        self._target = os.path.realpath(f) if isinstance(f, (str, os.PathLike)) else ""
        self._count += bool(self._target)
        try:
            return original(thing, f, *args, **kwargs)
        finally:
            self._target = ""


class TornCheckpoint(BadSave):
    """Only half of a checkpoint reaches the disk."""

    name = "torn-checkpoint"
    harm = Harm(families=_SAVED, needs=_NO_SAVE)

    def put_on(self) -> None:
        super().put_on()
        self.reach.points.add(self.reach.torch, "save", self._under, order=UNDER)

    def _under(self, original: Any) -> Any:
        def save(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            original(thing, f, *args, **kwargs)
            if self._target and isinstance(f, (str, os.PathLike)):
                self._tear(f)

        return save

    def _tear(self, path: Any) -> None:
        whole = zipfile.is_zipfile(path)
        with open(path, "rb+") as file:  # noqa: PTH123
            file.truncate(os.stat(path).st_size // 2)  # noqa: PTH116
        if whole and not zipfile.is_zipfile(path):
            self.touched += 1
            self.tell(damaged=[os.fspath(path)])


class KilledWhileSaving(BadSave):
    """The process is killed while it writes a checkpoint."""

    name = "killed-while-saving"
    harm = Harm(families=_SAVED, needs=_NO_SAVE, kills=True)

    def put_on(self) -> None:
        super().put_on()
        # What torch calls to write the records; the end of the file is written after it.
        self.reach.points.add(torch.serialization, "_save", self._under, order=UNDER)

    def _under(self, original: Any) -> Any:
        nth = min(2, self.run.saves)  # the second is written over, or beside, a good one

        def _save(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            if self._target and self._count == nth:
                self.tell(damaged=[self._target])
                self.die()

        return _save
