"""`premortem run --quarantine`: samples that the run is not given.

    DataLoader._index_sampler    what len(loader) and every pass ask for
      BatchSampler of torch      a new one over fewer samples: batches stay full
      another batch sampler      its batches, each without them
      one of several ranks       another sample takes its place: all ranks need as many batches as before

`loader.sampler` and `loader.batch_sampler` are the script's own, as ever.
"""

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
)

from premortem.events import SamplesBroken
from premortem.probes import Attachment
from premortem.probes.sample_numbers import base, broken_samples, described, is_number


class SamplesLeftOut:
    def __init__(
        self, attachment: Attachment, wanted: Mapping[tuple[str, int | None], frozenset[int]]
    ) -> None:
        self.session = attachment.session
        self._wanted = wanted
        self._samplers: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self.left_out: dict[tuple[str, int | None], set[int]] = {}  # numbers, by dataset
        self._own: Any = vars(DataLoader)["_index_sampler"].fget

    def install(self) -> None:
        self.session.left_out = lambda loader: len(self._dropped(loader.dataset))
        self.session.points.replace(DataLoader, "_index_sampler", property(self._sampler))

    def _sampler(self, loader: Any) -> Any:
        own = self._own(loader)
        try:
            known = self._samplers.get(loader)
            if known is None or known[0] is not own:
                known = self._samplers[loader] = (own, self._fewer(loader, own))
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("quarantine", error)
            return own
        return known[1]

    def _fewer(self, loader: Any, own: Any) -> Any:
        dropped = self._dropped(loader.dataset)
        if not dropped:
            return own
        if type(own) is BatchSampler and loader._auto_collation:
            return BatchSampler(
                Fewer(own.sampler, dropped, len(loader.dataset)), own.batch_size, own.drop_last
            )
        return Fewer(own, dropped, len(loader.dataset))

    def _dropped(self, dataset: Any) -> frozenset[int]:
        """The numbers that a sampler of this dataset knows them by."""
        if isinstance(dataset, IterableDataset):
            return frozenset()
        whole, _ = base(dataset, 0) if not isinstance(dataset, Subset) or len(dataset) else (dataset, 0)
        key = described(whole)
        wanted = self._wanted.get(key, frozenset())
        if not wanted:
            return frozenset()
        numbers = range(len(dataset)) if isinstance(dataset, Subset) else sorted(wanted)
        found = {number: base(dataset, number)[1] for number in numbers if number < len(dataset)}
        dropped = {number: index for number, index in found.items() if index in wanted}
        self.left_out.setdefault(key, set()).update(dropped.values())
        return frozenset(dropped)


class Fewer:
    """A sampler, or a batch sampler, without some of its samples."""

    def __init__(self, own: Any, dropped: frozenset[int], length: int) -> None:
        self._own = own
        self._dropped = dropped
        self._substitute = next((number for number in range(length) if number not in dropped), None)

    def __iter__(self) -> Iterator[Any]:
        as_many = self._substitute is not None and _several_ranks(self._own)
        for given in self._own:
            if is_number(given):
                if int(given) not in self._dropped:
                    yield given
                elif as_many:
                    yield self._substitute
                continue
            kept = [each for each in given if not (is_number(each) and int(each) in self._dropped)]
            if as_many and not kept:
                kept = [self._substitute]
            if kept:
                yield kept

    def __len__(self) -> int:
        whole = len(self._own)
        if _several_ranks(self._own):
            return whole
        if isinstance(self._own, RandomSampler) and not self._own.replacement:
            size = len(self._own.data_source)  # it may go through the data more than once
            full, rest = divmod(whole, size)
            return whole - full * len(self._dropped) if not rest else whole
        if isinstance(self._own, SequentialSampler):
            return whole - len(self._dropped)
        if isinstance(self._own, SubsetRandomSampler):
            drawn = Counter(int(number) for number in self._own.indices)
            return whole - sum(drawn[number] for number in self._dropped)
        return whole  # at most: how often it will draw them is unknown

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._own, name)


def _several_ranks(sampler: Any) -> bool:
    distributed = torch.distributed
    apart = distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
    return apart or isinstance(sampler, DistributedSampler)


class BrokenSamples:
    """Tells of each refused step which samples of its batches hold NaN or infinity. Looks only after a refusal."""

    def __init__(self, attachment: Attachment) -> None:
        self.attachment = attachment
        if attachment.guard is not None:
            attachment.guard.listeners.append(self.refused)

    def refused(self, refusal: Any) -> None:
        session = self.attachment.session
        try:
            drawn = session.drawn(refusal.step)
            for draw in self.attachment.recorder.draws_of(refusal.key, refusal.step):
                found = broken_samples(draw.batch, draw.numbers) if draw.numbers is not None else None
                if found is not None:
                    batch = drawn[1] if drawn is not None else None
                    session.emit(SamplesBroken(step=refusal.step, samples=found, batch=batch))
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            session.fault("broken samples", error)
