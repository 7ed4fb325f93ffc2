"""Which samples of its dataset a batch is made of: what the sampler gave for it, also where workers make it ahead of time."""

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Subset
from torch.utils.data.dataloader import _BaseDataLoaderIter, _DatasetKind

from premortem.amounts import length
from premortem.events import Samples
from premortem.probes.session import Session, tensors_in

_DEEPEST = 8  # subsets of subsets
_MOST = 64  # samples of one batch that are named: where more are broken, it is not a few samples


class Batch:
    """The samples of one batch. The dataset is found when it is asked for: nothing here keeps it alive."""

    __slots__ = ("_dataset", "_given", "_iterator")

    def __init__(self, iterator: Any, given: Any) -> None:
        self._given = given
        self._iterator = weakref.ref(iterator)
        try:
            self._dataset: Any = weakref.ref(iterator._dataset)
        except TypeError:  # a list
            self._dataset = None

    def __len__(self) -> int:
        return len(self._given) if isinstance(self._given, Sequence) else 1

    @property
    def dataset(self) -> Any:
        if self._dataset is not None:
            return self._dataset()
        return getattr(self._iterator(), "_dataset", None)

    def samples(self, rows: Sequence[int] | None = None) -> Samples | None:
        """Those of these rows, or of all; None where they have no numbers."""
        dataset = self.dataset
        given = list(self._given) if isinstance(self._given, Sequence) else [self._given]
        if dataset is None or (rows is not None and any(not 0 <= row < len(given) for row in rows)):
            return None
        chosen = given if rows is None else [given[row] for row in rows]
        if not chosen or not all(is_number(index) for index in chosen):
            return None
        within = [base(dataset, int(index)) for index in chosen]
        return Samples(*described(within[0][0]), tuple(index for _, index in within))

    def item(self, owner: Any, index: int) -> Samples | None:
        """While `owner[index]` is made for this batch: that sample, if `owner` is what the numbers refer to."""
        whole, given = self.dataset, list(self._given) if isinstance(self._given, Sequence) else [self._given]
        if whole is None or not all(is_number(each) for each in given):
            return None
        known = [base(whole, int(each)) for each in given]
        if any(dataset is owner and number == index for dataset, number in known):
            return Samples(*described(owner), (index,))
        return None


class Recalled(Batch):
    """One of a recorded step, as it was written down."""

    __slots__ = ("_known",)

    def __init__(self, known: Samples) -> None:
        self._known = known

    def __len__(self) -> int:
        return len(self._known.indices)

    def samples(self, rows: Sequence[int] | None = None) -> Samples | None:
        known = self._known.indices
        if rows is None or any(not 0 <= row < len(known) for row in rows):
            return None
        return self._known._replace(indices=tuple(known[row] for row in rows))

    def item(self, owner: Any, index: int) -> Samples | None:
        mine = described(owner) == self._known[:2] and index in self._known.indices
        return self._known._replace(indices=(index,)) if mine else None


class SampleNumbers:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._ahead: weakref.WeakKeyDictionary[Any, dict[int, Any]] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        self.session.layer(_BaseDataLoaderIter, "_next_index", self._wrap_next_index)

    def _wrap_next_index(self, original: Any) -> Any:
        session = self.session

        def _next_index(iterator: Any) -> Any:
            given = original(iterator)
            if iterator._dataset_kind != _DatasetKind.Iterable:
                if iterator._num_workers:
                    self._ahead.setdefault(iterator, {})[iterator._send_idx] = given
                else:
                    session.batch = Batch(iterator, given)  # it is made now, by this very process
            return given

        return _next_index

    def drawn(self, iterator: Any) -> Batch | None:
        """The batch that this iterator has just handed out."""
        if not iterator._num_workers:
            return self.session.batch if iterator._dataset_kind != _DatasetKind.Iterable else None
        ahead = self._ahead.get(iterator)
        if ahead is None or not getattr(iterator, "_in_order", True):
            return None
        given = ahead.pop(iterator._rcvd_idx - 1, None)
        return Batch(iterator, given) if given is not None else None


def is_number(index: Any) -> bool:
    return isinstance(index, int) or (hasattr(index, "__index__") and getattr(index, "ndim", 0) == 0)


def base(dataset: Any, index: int) -> tuple[Any, int]:
    """The dataset that a subset is a part of, and the number of the sample there."""
    for _ in range(_DEEPEST):
        if not isinstance(dataset, Subset):
            break
        dataset, index = dataset.dataset, int(dataset.indices[index])
    return dataset, index


def described(dataset: Any) -> tuple[str, int | None]:
    """Its class and its length: how another run knows it again."""
    return type(dataset).__name__, length(dataset)


def broken_samples(batch: Any, numbers: Batch) -> Samples | None:
    """Those that hold NaN or infinity as the loader handed them out. None where it is not a few, or unknown."""
    rows: set[int] = set()
    for tensor in tensors_in(batch):
        if not tensor.is_floating_point() or tensor.layout != torch.strided or not tensor.numel():
            continue
        if tensor.dim() == 0 or tensor.shape[0] != len(numbers):
            continue
        bad = ~torch.isfinite(tensor.detach().reshape(tensor.shape[0], -1)).all(dim=1)
        rows.update(int(row) for row in bad.nonzero()[: _MOST + 1, 0])
    few = 0 < len(rows) <= _MOST and 2 * len(rows) <= max(2, len(numbers))
    return numbers.samples(sorted(rows)) if few else None
