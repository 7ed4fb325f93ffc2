"""The process is killed while it writes a checkpoint."""

from __future__ import annotations

import os
from typing import Any

import torch

from premortem.drill.mutants.base import Mutant


class KilledWhileSaving(Mutant):
    """The process is killed while it writes a checkpoint."""

    name = "killed-while-saving"
    families = frozenset({"persistence", "checkpoint"})
    needs = "saves nothing to a path in this many steps"
    kills = True

    def under(self) -> None:
        # What torch calls to write the records; the end of the file is written after it.
        original: Any = torch.serialization._save  # noqa: SLF001

        def _save(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            if self._target and self._count == self._nth:
                self.tell(damaged=[self._target])
                self.die()

        torch.serialization._save = _save  # noqa: SLF001

    def over(self) -> None:
        self._count = 0
        self._nth = min(2, self.order.saves)  # the second is written over, or beside, a good one
        original = torch.save

        def save(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
            self._target = os.path.realpath(f) if isinstance(f, (str, os.PathLike)) else ""
            self._count += bool(self._target)
            original(thing, f, *args, **kwargs)
            self._target = ""

        torch.save = save  # type: ignore[assignment]

    _target = ""  # of the save that the script is making
