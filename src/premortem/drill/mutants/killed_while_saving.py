"""The process is killed while it writes a checkpoint."""

from __future__ import annotations

import os
from typing import Any

import torch

from premortem.drill.mutants.base import Mutant
from premortem.points import OVER, UNDER


class KilledWhileSaving(Mutant):
    """The process is killed while it writes a checkpoint."""

    name = "killed-while-saving"
    families = frozenset({"persistence", "checkpoint"})
    needs = "saves nothing to a path in this many steps"
    kills = True

    def under(self) -> None:
        # What torch calls to write the records; the end of the file is written after it.
        def make(original: Any) -> Any:
            def _save(*args: Any, **kwargs: Any) -> None:
                original(*args, **kwargs)
                if self._target and self._count == self._nth:
                    self.tell(damaged=[self._target])
                    self.die()

            return _save

        self.stage.points.add(torch.serialization, "_save", make, order=UNDER)

    def over(self) -> None:
        self._count = 0
        self._nth = min(2, self.order.saves)  # the second is written over, or beside, a good one

        def make(original: Any) -> Any:
            def save(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
                self._target = os.path.realpath(f) if isinstance(f, (str, os.PathLike)) else ""
                self._count += bool(self._target)
                original(thing, f, *args, **kwargs)
                self._target = ""

            return save

        self.stage.points.add(torch, "save", make, order=OVER)

    _target = ""  # of the save that the script is making
