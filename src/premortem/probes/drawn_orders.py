"""The order in which a random sampler hands out a dataset: the first batch of each pass, by the numbers of its samples."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler

from premortem.amounts import length
from premortem.events import OrderDrawn
from premortem.probes.loaders import Loaders
from premortem.probes.session import Keys, Session

_FEWEST = 4  # samples of a batch, and four times as many in all: two orders do not begin alike by chance
_PASSES = 256  # that are reported


class DrawnOrders:
    def __init__(self, session: Session, loaders: Loaders) -> None:
        self.session = session
        self.loaders = loaders
        self._datasets = Keys()
        self._begun: int | None = None  # a loader whose pass has begun
        self._passes = 0

    def install(self) -> None:
        self.loaders.on_start.append(self.started)
        self.loaders.on_batch.append(self.drawn)

    def started(self, key: int, loader: DataLoader[Any]) -> None:
        sampler = loader.sampler
        random = type(sampler) is RandomSampler and not sampler.replacement
        self._begun = key if random and (length(loader.dataset) or 0) >= _FEWEST**2 else None

    def drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        if loader != self._begun:
            return
        self._begun = None
        given = self.session.batch
        known = given.samples() if given is not None else None
        if given is None or known is None or len(known.indices) < _FEWEST or self._passes >= _PASSES:
            return
        dataset = given.dataset
        if isinstance(dataset, list):
            return  # it has no weak reference
        if (length(dataset) or 0) >= _FEWEST * len(known.indices):
            self._passes += 1
            self.session.emit(
                OrderDrawn(
                    step=self.session.step,
                    loader=loader,
                    data=self._datasets.of(dataset),
                    first=hash(known.indices),
                )
            )
