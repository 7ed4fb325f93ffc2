"""DataLoaders: how much data there is, how much of it arrives, and whether it changes."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils.data import DataLoader, IterableDataset, SequentialSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.events import BatchDrawn, EpochEnded, EpochStarted, LoaderBuilt, Site
from premortem.probes.session import Session, fingerprint, sampled, tensors_in, user_site


class Epoch:
    """One pass over a loader: how many batches came, and whether it ran out."""

    __slots__ = ("at", "batches", "key", "over")

    def __init__(self, key: int, at: Site | None) -> None:
        self.key = key
        self.at = at
        self.batches = 0
        self.over = False


class Loaders:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.told: set[int] = set()
        self.epochs: weakref.WeakKeyDictionary[Any, Epoch] = weakref.WeakKeyDictionary()
        self.started: dict[int, int] = {}

    def install(self) -> None:
        session = self.session
        session.around(DataLoader, "__iter__", before=self._starts, after=self._started)
        session.patch(_BaseDataLoaderIter, "__next__", self._wrap_next)

    def _starts(self, loader: DataLoader[Any]) -> None:
        key = self.session.loaders.of(loader)
        if key not in self.told:
            self.told.add(key)
            self._describe(key, loader)
        number = self.started[key] = self.started.get(key, 0) + 1
        content = content_of(loader.dataset) if number <= 64 else None
        self.session.emit(EpochStarted(step=self.session.step, at=user_site(), loader=key, content=content))

    def _started(self, note: Any, iterator: Any, loader: DataLoader[Any]) -> None:
        self.epochs[iterator] = Epoch(self.session.loaders.of(loader), user_site())

    def _describe(self, key: int, loader: DataLoader[Any]) -> None:
        dataset = loader.dataset
        self.session.emit(
            LoaderBuilt(
                step=self.session.step,
                at=user_site(),
                loader=key,
                samples=None if isinstance(dataset, IterableDataset) else length(dataset),
                batches=None if isinstance(dataset, IterableDataset) else length(loader),
                batch_size=loader.batch_size,
                shuffle=not isinstance(getattr(loader, "sampler", None), SequentialSampler),
                drop_last=bool(loader.drop_last),
                workers=loader.num_workers,
            )
        )

    def _wrap_next(self, original: Any) -> Any:
        session = self.session

        def __next__(iterator: Any) -> Any:  # noqa: N807
            try:
                batch = original(iterator)
            except StopIteration:
                if session.listening():
                    with session.looking_at("loader"):
                        self._ran_out(iterator)
                raise
            if session.listening():
                with session.looking_at("loader"):
                    self._drawn(iterator, batch)
            return batch

        return __next__

    def _drawn(self, iterator: Any, batch: Any) -> None:
        epoch = self.epochs.get(iterator)
        if epoch is None:
            return
        epoch.batches += 1
        if epoch.batches == 1 or epoch.batches % 16 == 0 or self.session.auditing:
            self.session.emit(
                BatchDrawn(
                    step=self.session.step,
                    at=epoch.at,
                    loader=epoch.key,
                    index=epoch.batches - 1,
                    fingerprint=fingerprint(tensors_in(batch)),
                )
            )

    def _ran_out(self, iterator: Any) -> None:
        epoch = self.epochs.get(iterator)
        if epoch is not None and not epoch.over:
            epoch.over = True
            self.session.emit(
                EpochEnded(step=self.session.step, at=epoch.at, loader=epoch.key, batches=epoch.batches)
            )
            epoch.batches = 0


def length(thing: Any) -> int | None:
    try:
        return len(thing)
    except (TypeError, NotImplementedError):
        return None


def content_of(dataset: Any, depth: int = 0) -> int | None:
    """A checksum over samples of the arrays a dataset holds, to see whether they change in place.

    The arrays' own identity goes in too: a dataset that draws new arrays for each epoch is a choice,
    arrays that change where they lie are an accident."""
    values = getattr(dataset, "__dict__", {})
    parts: list[Any] = []
    for name, value in values.items():
        if isinstance(value, torch.Tensor) and value.device.type == "cpu" and value.numel():
            parts.append((name, id(value), tuple(sampled(value, 64))))
        elif type(value).__name__ == "ndarray" and value.size and value.dtype.kind in "fiu":
            flat = value.reshape(-1)
            parts.append((name, id(value), tuple(flat[:: max(1, flat.size // 64)][:64].tolist())))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            parts.append((name, id(value[0]), tuple(sampled(value[0], 64))))
        elif name in ("dataset", "datasets") and depth < 3:  # Subset, ConcatDataset, wrappers
            inner = value if isinstance(value, (list, tuple)) else [value]
            parts += [content_of(item, depth + 1) for item in inner[:4]]
    return hash(tuple(parts)) if parts else None
