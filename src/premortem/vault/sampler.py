"""Data that goes on where it stopped: the same permutation, no sample lost or seen twice.

    loader = premortem.ResumableLoader(dataset, batch_size=32, shuffle=True, num_workers=4)    # as DataLoader
    vault.save(step, model=model, loader=loader)         # after batch 117 of epoch 3
    vault.resume(model=model, loader=loader)             # in another process
    for batch in loader: …                               # batch 118 of epoch 3

The order of an epoch is drawn once, when it begins, and is stored. What counts is what was handed to the training
loop, not what workers have fetched ahead. `ResumableSampler` alone keeps the order of a DataLoader without workers.

A generator that workers use for augmentation begins anew when a loader is entered in the middle of an epoch: its place
lies in a process that is gone. Without workers, augmentation draws from the generators that the vault restores.
"""

from collections.abc import Iterator, Sized
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
)

from premortem.errors import UsageError


class ResumableSampler(Sampler[Any]):
    """Wraps a sampler of indices, or of batches of indices. It has one epoch at a time."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler
        self.epoch = 0
        self._order: list[Any] = []
        self._drawn = 0  # the epoch of `set_epoch` when the order was drawn
        self._position = 0  # of what was handed out
        self._running = False  # within an epoch
        self._resumed = False  # the next epoch to begin is the rest of a stored one

    def __iter__(self) -> Iterator[Any]:
        if self._resumed:
            self._resumed = False
        else:
            self.epoch += self._running  # an epoch that was broken off is over
            self._drawn = getattr(self.sampler, "epoch", 0)
            self._order, self._position = list(self.sampler), 0
        self._running = True
        epoch = self.epoch
        while self._position < len(self._order):
            self._position += 1
            yield self._order[self._position - 1]
            if self.epoch != epoch or not self._running:
                return
        self._finish()

    def __len__(self) -> int:
        return len(self.sampler)

    def set_epoch(self, epoch: int) -> None:
        """For DistributedSampler and its like."""
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)

    def state_dict(self, taken: int | None = None) -> dict[str, Any]:
        """Where the epoch stands. `taken` is how many of it were used, when a loader has fetched more than that."""
        if taken is None and not self._running:
            return {"epoch": self.epoch, "running": False}
        # When the last one was fetched, the epoch is over for the sampler; for the loop it may not be.
        epoch = self.epoch if self._running else self.epoch - 1
        position = self._position if taken is None else min(taken, len(self._order))
        order = {"drawn": self._drawn} if self.distributed else _packed(self._order)
        return {"epoch": epoch, "running": True, "position": position, **order}

    @property
    def distributed(self) -> bool:
        """Whether every process has its own share of the order, which follows from a seed and a number."""
        return hasattr(self.sampler, "num_replicas") and hasattr(self.sampler, "set_epoch")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epoch, self._running = int(state["epoch"]), bool(state["running"])
        self._resumed = self._running
        if self._running and "drawn" in state:
            self._drawn = int(state["drawn"])
            self.sampler.set_epoch(self._drawn)
            self._order = list(self.sampler)
        else:
            self._order = _unpacked(state) if self._running else []
        self._position = int(state.get("position", 0))
        if self._running and _largest(self._order) >= (size := _population(self.sampler)):
            raise UsageError(
                f"the stored order names sample {_largest(self._order)}, and the data now has {size}; "
                "it is not the data this checkpoint was trained on"
            )

    def _finish(self) -> None:
        self.epoch += 1
        self._running = False


class ResumableLoader(DataLoader[Any]):
    """A DataLoader that knows where it stands. It takes the arguments of DataLoader."""

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, **options: Any
    ) -> None:
        if isinstance(dataset, IterableDataset):
            raise UsageError(
                "an IterableDataset has no order to store; use torchdata's StatefulDataLoader for it"
            )
        if options.get("batch_sampler") is not None:
            options["batch_sampler"] = ResumableSampler(options["batch_sampler"])
            super().__init__(dataset, **options)
        else:
            sampler = options.pop("sampler", None)
            if sampler is not None and shuffle:
                raise UsageError("a sampler decides the order; shuffle=True would do so too")
            if sampler is None and shuffle:
                sampler = RandomSampler(dataset, generator=options.get("generator"))
            super().__init__(
                dataset,
                batch_size,
                sampler=ResumableSampler(SequentialSampler(dataset) if sampler is None else sampler),
                **options,
            )
        self._taken = 0  # batches handed out in this epoch
        self._over = True
        self._entering: dict[str, Any] | None = None

    @property
    def order(self) -> ResumableSampler:
        held = self.batch_sampler if isinstance(self.batch_sampler, ResumableSampler) else self.sampler
        assert isinstance(held, ResumableSampler)  # noqa: S101 - it was put there above
        return held

    @property
    def epoch(self) -> int:
        """The epoch that `for batch in loader` is in, or would begin."""
        return self.order.epoch

    def __iter__(self) -> Any:
        entering, self._entering = self._entering, None
        if entering is None:
            self._taken = 0
            return self._counted(super().__iter__())
        # An iterator draws a seed when it is made, and this one was made before the checkpoint: its draw is undone.
        state = torch.get_rng_state()
        inner = super().__iter__()
        torch.set_rng_state(state)
        if self.generator is not None and entering.get("generator") is not None:
            self.generator.set_state(entering["generator"])
        return self._counted(inner)

    def _counted(self, inner: Iterator[Any]) -> Iterator[Any]:
        self._over = False
        for batch in inner:
            self._taken += 1
            yield batch
        self._over = True

    def state_dict(self) -> dict[str, Any]:
        order = self.order
        if self._over:
            done = {"epoch": order.epoch, "running": False}
            return {"batches": 0, "order": done, "generator": self._generated()}
        return {
            "batches": self._taken,
            "order": order.state_dict(self._taken * self._width),
            "generator": self._generated(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order.load_state_dict(state["order"])
        self._over = not state["order"]["running"]
        self._taken = int(state["batches"])
        self._entering = None if self._over else dict(state)
        if self._over and self.generator is not None and state.get("generator") is not None:
            self.generator.set_state(state["generator"])

    def _generated(self) -> Any:
        return None if self.generator is None else self.generator.get_state()

    @property
    def _width(self) -> int:
        """How many elements of the order make a batch."""
        inner = self.batch_sampler
        return inner.batch_size if isinstance(inner, BatchSampler) else 1


def _packed(order: list[Any]) -> dict[str, Any]:
    """An order as tensors, so that millions of indices do not end up in JSON."""
    if order and isinstance(order[0], (list, tuple)):
        flat = [index for batch in order for index in batch]
        return {
            "indices": torch.tensor(flat, dtype=torch.int64),
            "lengths": torch.tensor([len(batch) for batch in order], dtype=torch.int64),
        }
    return {
        "indices": torch.tensor([int(index) for index in order], dtype=torch.int64),
        "samples": len(order),
    }


def _unpacked(state: dict[str, Any]) -> list[Any]:
    flat: list[int] = state["indices"].tolist()
    if "lengths" not in state:
        return flat
    order, begin = [], 0
    for length in state["lengths"].tolist():
        order.append(flat[begin : begin + length])
        begin += length
    return order


def _largest(order: list[Any]) -> int:
    flat = (index for each in order for index in (each if isinstance(each, list) else (each,)))
    return max(flat, default=-1)


def _population(sampler: Any) -> float:
    for name in ("data_source", "dataset"):
        held = getattr(sampler, name, None)
        if isinstance(held, Sized):
            return len(held)
    inner = getattr(sampler, "sampler", None)
    return _population(inner) if inner is not None else float("inf")
