"""Decoded samples in memory, once for all workers."""

import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import torch
from torch.utils.data import DataLoader, Dataset

from premortem.amounts import free, size
from premortem.parts import sizes
from premortem.parts.cache_report import CacheReport
from premortem.parts.encoded import Encoded, Unfit, encode
from premortem.parts.progress import bar
from premortem.parts.shared_samples import SharedSamples
from premortem.parts.shelves import FULL, KIND, LARGE, PAGE
from premortem.tensors import generators

CHECKED = 4  # samples that are read again when the cache begins to fill, to see whether they stay the same
AGAIN = 2  # times; a flip that happens half of the time is then seen in 255 of 256 caches
FREE_SHARE = 0.9  # of what is free: a budget above it would end in the process being killed
FEW = 0.5


class RamCache(Dataset[Any]):
    """Holds what a dataset returns, once, in memory that all workers of all loaders share.

    ## Why it matters
    A dictionary inside a dataset is copied into every worker: twelve workers hold twelve caches, and the workers are cut to four
    because the RAM is full. Each worker fills its own, so most reads still miss, and without `persistent_workers` all
    is lost with the epoch. And a cache that has loaded 0 files trains on without a word. Here there is one copy, a budget
    in bytes, and `print(cache)` says what is held, how often it was hit, and what did not fit and why.

    ## Example
    >>> import torch
    >>> from premortem.parts import RamCache
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 100
    ...     def __getitem__(self, index):  # imagine a file being read and decoded
    ...         return torch.full((3, 8, 8), index), index**2
    >>> cache = RamCache(Squares(), budget="64MiB", transform=lambda sample: (sample[0].flip(-1), sample[1]))
    >>> cache.preload().held
    100
    >>> loader = torch.utils.data.DataLoader(cache, batch_size=10, num_workers=2)
    >>> sum(int(labels.sum()) for images, labels in loader)
    328350
    >>> cache.report().hit_rate
    1.0

    ## Under the transform
    What is random must not be held: an augmentation that was cached is the same picture in every epoch. Let the dataset return
    the decoded sample, and pass the augmentation as `transform`, which runs after the cache. The first samples are read
    again when the cache fills; if they differ, that is a warning.

    ## What to choose
    - `budget`: `"8GiB"`, a number of bytes, or `"50%"` (or 0.5) of the memory that is free. A budget above what is free is lowered to it.
    - `policy="pinned"`, the default, keeps what came first until the end. Training reads every sample once an epoch, in another order, and
      the least recently used one is then as likely as any to be needed next: with half of the samples held, pinned hits half of the time
      and `"lru"` less. Use `"lru"` where some samples are read more often than others.
    - `keys`: with a function instead of a dataset, what it is called with: `RamCache(read_image, keys=paths)`.
    - `preload(workers=4)` fills it before training, with a progress bar on a terminal. Without it, the first epoch does.

    ## What it holds
    Tensors and arrays as they are, strides included, in any nesting; everything else that can be pickled. What is returned is
    a copy, so that a transform in place spoils nothing; for a decoded image that is a small part of what the collation of a batch costs. The memory
    has no name and no share of /dev/shm. It is gone with the last process that uses it, however that ends.
    Processes that are not each other's workers, such as the ranks of a distributed run, hold one cache each.
    """

    def __init__(
        self,
        source: Any,
        budget: float | str = "8GiB",
        *,
        policy: Literal["pinned", "lru"] = "pinned",
        keys: Sequence[Any] | None = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        if policy not in {"pinned", "lru"}:
            raise ValueError(f"RamCache has the policies pinned and lru, not {policy!r}")
        self.source, self.policy, self.transform, self._keys = source, policy, transform, keys
        samples = _length(source, keys)
        asked, most = sizes.in_bytes(budget), int(FREE_SHARE * free())
        self.budget, self._lowered_from = min(asked, most), asked if asked > most else 0
        if self.budget < PAGE:
            raise ValueError(f"RamCache: a budget of {budget} has no room for a single sample")
        self._held = SharedSamples(samples, self.budget, evict=policy == "lru")

    def __len__(self) -> int:
        return len(self._held)

    def __getitem__(self, index: int) -> Any:
        place = self._place(index)
        found = self._held.recall(place)
        if found is None:
            found = (self._read(place),)
            if not self._held.reason(place):  # else it is known not to fit
                _code, why = self._keep(place, found[0], evict=True)
                if why and self._held.count("warned") == 1:
                    warnings.warn(why, stacklevel=2)
        return self.transform(found[0]) if self.transform else found[0]

    def preload(
        self, indices: Iterable[int] | None = None, *, workers: int = 0, progress: bool | None = None
    ) -> CacheReport:
        """Read samples in until all are held or the budget is used up. Those that cannot be read or held are reported.

        With workers they are read in parallel. The progress bar is shown on a terminal, unless `progress` says otherwise."""
        wanted = [self._place(index) for index in (range(len(self)) if indices is None else indices)]
        if not wanted:
            raise ValueError("RamCache: there are no samples to preload")
        # A generator of its own: a loader without one draws from the script's.
        loader = DataLoader(
            _Filling(self, wanted), batch_size=None, num_workers=workers, generator=torch.Generator()
        )
        shown = sys.stderr.isatty() if progress is None else progress
        problems: dict[int, str] = {}
        with bar(len(wanted), shown=shown) as advance:
            for place, (code, why) in zip(wanted, loader, strict=True):
                if why:
                    problems[place] = why
                if code == FULL:
                    break
                advance(f"{size(self._held.used)} held")
        if self.policy == "pinned":
            self._held.leave_out([place for place in wanted if place not in problems], FULL)
        self._judge(wanted, problems)
        return self.report()

    def report(self) -> CacheReport:
        """What is held, hit and left out, by all processes together. `print` shows it in words."""
        reasons = self._held.reasons()
        counts = self._held.counts()
        return CacheReport(
            policy=self.policy,
            samples=len(self),
            held=counts["held"],
            used=self._held.used,
            budget=self.budget,
            hits=counts["hits"],
            misses=counts["misses"],
            evicted=counts["evicted"],
            no_room=reasons.count(FULL),
            too_large=reasons.count(LARGE),
            cannot_be_held=reasons.count(KIND),
            lowered_from=self._lowered_from,
            random=bool(counts["random"]),
        )

    def __repr__(self) -> str:
        return str(self.report())

    def _place(self, index: int) -> int:
        place = int(index) + len(self) if index < 0 else int(index)
        if not 0 <= place < len(self):
            raise IndexError(f"there is no sample {index} among the {len(self):,} of this RamCache")
        return place

    def _read(self, place: int) -> Any:
        return self.source[place] if self._keys is None else self.source(self._keys[place])

    def fill(self, place: int) -> tuple[int, str]:
        """Read one sample in, if it is not held: why it is not held now, as a code and where needed as a sentence."""
        if self._held.holds(place):
            return 0, ""
        try:
            sample = self._read(place)
        except Exception as error:  # noqa: BLE001 - whatever a dataset raises; it is reported after all were tried
            return 0, f"sample {place} cannot be read: {type(error).__name__}: {error}"
        return self._keep(place, sample, evict=False)

    def _keep(self, place: int, sample: Any, *, evict: bool) -> tuple[int, str]:
        try:
            encoded = encode(sample)
        except Unfit as unfit:
            self._held.leave_out([place], KIND)
            return KIND, f"RamCache cannot hold sample {place}: {unfit}"
        self._look_for_randomness(place, encoded)
        return self._held.keep(place, encoded, evict=evict), ""

    def _look_for_randomness(self, place: int, encoded: Encoded) -> None:
        if self._held.count("checked") > CHECKED:
            return
        with (
            generators.kept()
        ):  # after the first reading: the next ones draw further, and then all is put back
            again = [encode(self._read(place)) for _ in range(AGAIN)]
        if not all(map(encoded.same_as, again)) and self._held.count("random") == 1:
            warnings.warn(
                f"sample {place} is another one each time it is read, and the cache will keep one of them. Give RamCache the "
                "dataset without its random augmentation, and the augmentation as transform=",
                stacklevel=4,
            )

    def _judge(self, wanted: Sequence[int], problems: dict[int, str]) -> None:
        held = sum(map(self._held.holds, wanted))
        first = next(iter(problems.values()), "")
        if not held:
            raise RuntimeError(
                f"RamCache holds none of {len(wanted):,} samples. {first or 'Nothing fits into the budget.'}"
            )
        if problems:
            warnings.warn(
                f"{len(problems):,} of {len(wanted):,} samples are not in the cache. The first: {first}",
                stacklevel=3,
            )
        if held < FEW * len(wanted):
            warnings.warn(f"few samples are held. {self.report()}", stacklevel=3)


class _Filling(Dataset[tuple[int, str]]):
    """For the workers of `preload`: what is read stays in the cache, and only what went wrong is sent back."""

    def __init__(self, cache: RamCache, places: Sequence[int]) -> None:
        self._cache, self._places = cache, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> tuple[int, str]:
        return self._cache.fill(self._places[number])


def _length(source: Any, keys: Sequence[Any] | None) -> int:
    if keys is None and not hasattr(source, "__getitem__"):
        advice = "pass keys=, what it is called with" if callable(source) else "it has no __getitem__"
        raise TypeError(f"RamCache wraps a dataset with __getitem__ and __len__, or a function: {advice}")
    length = len(source if keys is None else keys)
    if not length:
        raise ValueError(
            "RamCache was given a dataset without a single sample. Is its folder the one that was meant, spelled in that case?"
        )
    return length
