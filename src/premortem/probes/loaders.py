"""DataLoaders: how much data there is, how much of it arrives, and whether it changes."""

import weakref
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    WeightedRandomSampler,
)
from torch.utils.data.dataloader import _BaseDataLoaderIter

from premortem.amounts import length
from premortem.events import BatchDrawn, EpochEnded, EpochStarted, LoaderBuilt, Site
from premortem.probes.datasets import Datasets, Kept, generators_in
from premortem.probes.recent_data import Recent
from premortem.probes.sample_numbers import SampleNumbers
from premortem.probes.sampling import stride_over
from premortem.probes.session import (
    COMPILER,
    COMPILING,
    Keys,
    Session,
    fingerprint,
    sampled,
    tensors_in,
    user_site,
)
from premortem.profile.weighting import MOST_WEIGHTS, carrying


class Epoch:
    """One pass over a loader: how many batches came, and whether it ran out."""

    __slots__ = ("at", "batches", "followed", "key", "over")

    def __init__(self, key: int, at: Site | None, followed: list[Kept]) -> None:
        self.key = key
        self.at = at
        self.batches = 0
        self.over = False
        self.followed = followed  # arrays of the dataset that are looked at around each batch


class Draw(NamedTuple):
    """One batch: after how many steps it was drawn, from which loader, and its number in the epoch, from 1."""

    steps: int
    loader: int
    number: int


class Loaders:
    def __init__(self, session: Session, recent: Recent) -> None:
        self.session = session
        self.recent = recent
        self._parts = Keys()
        self.on_batch: list[Callable[[int, Any, list[torch.Tensor]], None]] = []
        self.on_start: list[Callable[[int, DataLoader[Any]], None]] = []  # of a pass
        self.on_end: list[Callable[[int, int], None]] = []  # of a pass that ran out: loader, batches
        self.told: set[int] = set()
        self.epochs: weakref.WeakKeyDictionary[Any, Epoch] = weakref.WeakKeyDictionary()
        self.started: dict[int, int] = {}
        self.datasets = Datasets()
        self.last: dict[int, Epoch] = {}  # of each loader
        self._draws: deque[Draw] = deque(maxlen=256)
        self._numbers = SampleNumbers(session)
        session.drawn = self._drawn_for

    def install(self) -> None:
        session = self.session
        self._numbers.install()
        session.around(DataLoader, "__iter__", before=self._starts, after=self._started)
        session.layer(_BaseDataLoaderIter, "__next__", self._wrap_next, quiet=self._wrap_counted, asks=True)

    def _starts(self, loader: DataLoader[Any]) -> None:
        key = self.session.loaders.of(loader)
        if key not in self.told:
            self.told.add(key)
            self._describe(key, loader)
        number = self.started[key] = self.started.get(key, 0) + 1
        self._left_early(key)
        content = content_of(loader.dataset) if number <= 64 else None
        arrays = self.datasets.epoch_starts(loader.dataset) if number <= 64 else ()
        self.session.emit(
            EpochStarted(step=self.session.step, at=user_site(), loader=key, content=content, arrays=arrays)
        )
        for hears in self.on_start:
            hears(key, loader)

    def _started(self, note: Any, iterator: Any, loader: DataLoader[Any]) -> None:
        key = self.session.loaders.of(loader)
        followed = self.datasets.follow(loader.dataset, self.started[key]) if not loader.num_workers else []
        self.epochs[iterator] = self.last[key] = Epoch(key, user_site(), followed)

    def _left_early(self, key: int) -> None:
        epoch = self.last.get(key)
        if epoch is not None and not epoch.over and epoch.batches:
            epoch.over = True
            self.session.emit(
                EpochEnded(
                    step=self.session.step, at=epoch.at, loader=key, batches=epoch.batches, complete=False
                )
            )

    def _describe(self, key: int, loader: DataLoader[Any]) -> None:
        dataset = loader.dataset
        samples = None if isinstance(dataset, IterableDataset) else length(dataset)
        self.session.emit(
            LoaderBuilt(
                step=self.session.step,
                at=user_site(),
                loader=key,
                samples=samples and samples - self.session.left_out(loader),
                batches=None if isinstance(dataset, IterableDataset) else length(loader),
                batch_size=loader.batch_size,
                shuffle=not isinstance(getattr(loader, "sampler", None), SequentialSampler),
                drop_last=bool(loader.drop_last),
                workers=loader.num_workers,
                reachable=reachable(loader),
                weighted=weighted(loader),
                generators=shared_generators(loader),
                part=self._part(dataset),
            )
        )

    def _part(self, dataset: Any) -> tuple[int, int] | None:
        if isinstance(dataset, Subset) and isinstance(dataset.dataset, Dataset):
            return self._parts.of(dataset), self._parts.of(dataset.dataset)
        return None

    def _wrap_next(self, original: Any) -> Any:
        session = self.session

        def __next__(iterator: Any) -> Any:  # noqa: N807
            epoch = self.epochs.get(iterator)
            followed = epoch.followed if epoch is not None else None
            if followed:
                with session.looking_at("loader"):
                    self.datasets.around_batch(followed, inside=False)
            try:
                batch = original(iterator)
            except StopIteration:
                with session.looking_at("loader"):
                    self._ran_out(iterator)
                raise
            with session.looking_at("loader"):
                if followed:
                    self.datasets.around_batch(followed, inside=True)
                session.batch = self._numbers.drawn(iterator)
                if epoch is not None:
                    self._drawn(epoch, batch)
            return batch

        return __next__

    def _wrap_counted(self, original: Any) -> Any:
        """In a rested step: which batch it is, and what a replay needs of it."""
        session = self.session

        def __next__(iterator: Any) -> Any:  # noqa: N807
            if session.looking or not session.on or get_ident() != session.thread or COMPILER.get(COMPILING):
                return original(iterator)
            try:
                batch = original(iterator)
            except StopIteration:
                with session.looking_at("loader"):
                    self._ran_out(iterator)
                raise
            epoch = self.epochs.get(iterator)
            if epoch is not None:
                try:
                    session.batch = self._numbers.drawn(iterator)
                    self._count(epoch, batch)
                except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
                    session.fault("loader", error)
            return batch

        return __next__

    def _count(self, epoch: Epoch, batch: Any) -> None:
        epoch.batches += 1
        self._draws.append(tuple.__new__(Draw, (self.session.step, epoch.key, epoch.batches)))
        tensors = tensors_in(batch)
        for hears in self.on_batch:
            hears(epoch.key, batch, tensors)

    def _drawn(self, epoch: Epoch, batch: Any) -> None:
        self._count(epoch, batch)
        self.recent.drawn(batch, epoch.at)
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

    def _drawn_for(self, step: int) -> tuple[int, int] | None:
        """Every batch is counted, though few are reported: a question about a batch that failed is about that very one."""
        before = [draw for draw in self._draws if draw.steps < step]
        if not before:
            return None
        last = before[-1]
        first = last.number
        for draw in reversed(before[:-1]):
            if (draw.steps, draw.loader, draw.number) != (last.steps, last.loader, first - 1):
                break
            first = draw.number
        return first, last.number

    def _ran_out(self, iterator: Any) -> None:
        epoch = self.epochs.get(iterator)
        if epoch is not None:
            again, epoch.over = epoch.over, True
            for hears in self.on_end:
                hears(epoch.key, epoch.batches)
            self.session.emit(
                EpochEnded(
                    step=self.session.step,
                    at=user_site() if again else epoch.at,
                    loader=epoch.key,
                    batches=epoch.batches,
                    again=again,
                )
            )
            epoch.batches = 0


def reachable(loader: DataLoader[Any]) -> int | None:
    weights = (
        getattr(loader.sampler, "weights", None)
        if isinstance(loader.sampler, WeightedRandomSampler)
        else None
    )
    return None if weights is None else len(weights)


def weighted(loader: DataLoader[Any]) -> tuple[int, int] | None:
    """How many samples a weighted sampler can draw, and the fewest that are nearly all of what it draws."""
    weights = (
        getattr(loader.sampler, "weights", None)
        if isinstance(loader.sampler, WeightedRandomSampler)
        else None
    )
    if weights is None or weights.dim() != 1 or not 0 < len(weights) <= MOST_WEIGHTS:
        return None
    return carrying(weights.detach().cpu().double().numpy())


def shared_generators(loader: DataLoader[Any]) -> tuple[str, ...]:
    if not loader.num_workers or loader.worker_init_fn is not None:
        return ()
    return generators_in(loader.dataset)


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
            parts.append((name, id(value), tuple(flat[:: stride_over(flat.size, 64)][:64].tolist())))
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            parts.append((name, id(value[0]), tuple(sampled(value[0], 64))))
        elif name in ("dataset", "datasets") and depth < 3:  # Subset, ConcatDataset, wrappers
            inner = value if isinstance(value, (list, tuple)) else [value]
            parts += [content_of(item, depth + 1) for item in inner[:4]]
    return hash(tuple(parts)) if parts else None
