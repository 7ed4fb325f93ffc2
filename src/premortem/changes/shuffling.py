"""The order of samples: another one in each epoch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from premortem.changes.base import Change, Learning
from premortem.changes.late import torch


class Shuffled(Change):
    """A loader that trains draws its samples in another order in each epoch."""

    name = "shuffled"
    learning = Learning(
        title="samples shuffled",
        question="inputs",
        family="data-order",
        order=4,
        finding="class-sorted-batches",
        remedy="build the loader with shuffle=True",
    )
    opening = ("unshuffled", "the samples come in another order in each epoch")

    def put_on(self) -> None:
        from torch.utils.data import DataLoader

        self.reach.points.add(DataLoader, "__iter__", self._iterating, order=self.reach.order)

    def _iterating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:  # noqa: N807
            if not torch.is_grad_enabled() or not in_order(loader):
                return original(loader)
            self.touched += 1
            sampler = loader.batch_sampler.sampler
            draw = torch.Generator().manual_seed(self.touched)
            loader.batch_sampler.sampler = torch.randperm(len(sampler), generator=draw).tolist()
            try:
                return _begun(original(loader), partial(setattr, loader.batch_sampler, "sampler", sampler))
            except BaseException:
                loader.batch_sampler.sampler = sampler
                raise

        return __iter__


def _begun(iterator: Any, afterwards: Callable[[], None]) -> Any:
    """Batches, and then the loader as it was."""
    try:
        yield from iterator
    finally:
        afterwards()


def in_order(loader: Any) -> bool:
    """Whether a loader draws the samples of a dataset one after the other."""
    from torch.utils.data import SequentialSampler

    return isinstance(getattr(loader.batch_sampler, "sampler", None), SequentialSampler)
