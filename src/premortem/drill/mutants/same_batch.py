"""Every step gets the first batch of the loader."""

from __future__ import annotations

import copy
from typing import Any

from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.drill.mutants.base import Mutant
from premortem.points import UNDER


class SameBatch(Mutant):
    """Every step gets the first batch of the loader."""

    name = "same-batch"
    families = frozenset({"data-order"})
    needs = "draws no batches from a DataLoader"

    def under(self) -> None:
        first: dict[int, Any] = {}  # by dataset

        def make(original: Any) -> Any:
            def __next__(iterator: Any) -> Any:  # noqa: N807
                drawn = original(iterator)
                kept = first.setdefault(id(iterator._dataset), drawn)  # noqa: SLF001
                self.touched += kept is not drawn
                return copy.deepcopy(kept)

            return __next__

        self.stage.points.add(_BaseDataLoaderIter, "__next__", make, order=UNDER)
