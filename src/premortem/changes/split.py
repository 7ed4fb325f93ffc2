"""How samples are split into those for training and the others: another way, by chance."""

from __future__ import annotations

from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch

_SEED = 7_411_887  # of no script


class AnotherSplit(Change):
    """`random_split` gives other samples to each part."""

    name = "another-split"
    learning = Learning(title="another split", question="split", order=9)
    opening = ("splits", "no evaluation that varies much hangs on a random_split")

    def put_on(self) -> None:
        from torch.utils import data

        for owner in (data, data.dataset):
            self.reach.instead(owner, "random_split", self._split)

    def _split(self, original: Any, dataset: Any, lengths: Any, generator: Any = None, **more: Any) -> Any:
        self.touched += 1
        if generator is None:  # what it would have drawn is drawn
            original(dataset, lengths, **more)
        return original(dataset, lengths, generator=torch.Generator().manual_seed(_SEED), **more)
