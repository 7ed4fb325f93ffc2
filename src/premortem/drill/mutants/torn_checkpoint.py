"""Only half of a checkpoint reaches the disk."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import torch

from premortem.drill.mutants.base import Mutant
from premortem.points import UNDER


class TornCheckpoint(Mutant):
    """Only half of a checkpoint reaches the disk."""

    name = "torn-checkpoint"
    families = frozenset({"persistence", "checkpoint"})
    needs = "saves nothing to a path in this many steps"

    def under(self) -> None:
        def make(original: Any) -> Any:
            def save(thing: Any, f: Any, *args: Any, **kwargs: Any) -> None:
                original(thing, f, *args, **kwargs)
                if self._saving and isinstance(f, (str, os.PathLike)):
                    self._tear(f)

            return save

        self.stage.points.add(torch, "save", make, order=UNDER)

    def over(self) -> None:
        self.stage.instead(torch, "save", self._saved)

    _saving = False

    def _saved(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        self._saving = True
        try:
            return original(*args, **kwargs)
        finally:
            self._saving = False

    def _tear(self, path: Any) -> None:
        whole = zipfile.is_zipfile(path)
        with open(path, "rb+") as file:  # noqa: PTH123
            file.truncate(os.stat(path).st_size // 2)  # noqa: PTH116
        if whole and not zipfile.is_zipfile(path):
            self.touched += 1
            self.tell(damaged=[os.fspath(path)])
