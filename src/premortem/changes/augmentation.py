from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch


class NoAugmentation(Change):
    """A sample of a dataset is the same each time it is asked for: chance inside of `__getitem__` is the sample's own.

    What an augmentation draws depends on the sample's index alone, from whichever generator of random numbers. The
    script's own generators go on as if nothing had been drawn."""

    name = "no-augmentation"
    learning = Learning(
        title="augmentation held still", question="inputs", family="data-augment", evaluated=True, order=4
    )
    opening = ("augments", "each sample is the same whenever it is asked for")

    def put_on(self) -> None:
        from torch.utils.data import _utils

        fetch = _utils.fetch
        self.reach.points.add(fetch._MapDatasetFetcher, "fetch", self._fetching)  # noqa: SLF001

    def _fetching(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fetch(fetcher: Any, possibly_batched_index: Any) -> Any:
            held = fetcher.dataset
            fetcher.dataset = Still(held, self)
            try:
                return original(fetcher, possibly_batched_index)
            finally:
                fetcher.dataset = held

        return fetch


class Still:
    """A dataset whose samples do not depend on when they are asked for."""

    def __init__(self, dataset: Any, change: Change) -> None:
        self._dataset, self._change = dataset, change

    def __getitem__(self, index: Any) -> Any:
        from premortem.tensors import generators

        seed = hash(index) % 2**32 if isinstance(index, (int, str)) else 0
        self._change.touched += 1
        with generators.kept():
            torch.default_generator.manual_seed(seed)  # of the device's own nothing is drawn here
            random.seed(seed)
            if (numpy := sys.modules.get("numpy")) is not None:
                numpy.random.seed(seed)
            return self._dataset[index]
