"""PM342 workers-share-generator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.wording import count
from premortem.events import BatchDrawn, EpochStarted, Event, LoaderBuilt
from premortem.findings import Certainty, Finding, Severity

EPOCHS = 2


class WorkersShareGenerator(Detector):
    """A dataset draws its augmentations from a generator of its own, and every worker gets a copy of it.

    ## Why it matters
    All workers draw the same numbers, and new workers start from the same copy in each epoch: the augmentation is
    the same for several samples and never new.

    ## Usual causes
    `self.rng = np.random.default_rng(seed)` in `__init__`, used in `__getitem__`, with `num_workers > 0`.

    ## What to do
    Make the generator in the worker (`worker_init_fn`, seeded with `torch.initial_seed()`), or draw from torch's
    global generator, which is seeded for each worker and epoch.
    """

    card: ClassVar[Card] = Card(
        code="PM342", name="workers-share-generator", family="data-augment", severity=Severity.WARNING
    )
    listens: ClassVar[tuple[type[Event], ...]] = (LoaderBuilt, EpochStarted, BatchDrawn)

    def __init__(self) -> None:
        self._loaders: dict[int, LoaderBuilt] = {}
        self._epochs: dict[int, int] = {}
        self._first: dict[tuple[int, int], int] = {}  # loader, index -> fingerprint in the first epoch
        self._said = False

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LoaderBuilt):
            if event.generators and event.workers:
                self._loaders[event.loader] = event
        elif isinstance(event, EpochStarted):
            if event.loader in self._loaders:
                self._epochs[event.loader] = self._epochs.get(event.loader, 0) + 1
        elif isinstance(event, BatchDrawn):
            loader = self._loaders.get(event.loader)
            if loader is not None and not self._said and event.fingerprint is not None and event.index == 0:
                yield from self._drawn(event, loader)

    def _drawn(self, event: BatchDrawn, loader: LoaderBuilt) -> Iterator[Finding]:
        key = (event.loader, event.index)
        first = self._first.setdefault(key, event.fingerprint or 0)
        again = self._epochs.get(event.loader, 0) >= EPOCHS
        # In a fixed order the repetition can be seen; in a shuffled one it follows from the copies.
        if again and (loader.shuffle or first == event.fingerprint):
            self._said = True
            name = loader.generators[0]
            yield self.finding(
                event,
                f"the dataset draws from `{name}`, and each of {count(loader.workers, 'worker')} starts every epoch "
                "with the same copy of it",
                cause="The generator is copied into the workers with the dataset, so all of them draw the same numbers, "
                "in every epoch.",
                remedy="Make it in the worker (`worker_init_fn`, seeded with `torch.initial_seed()`), or use torch's own "
                "random functions.",
                at=loader.at,
                certainty=Certainty.MEASURED if not loader.shuffle else Certainty.SUSPECTED,
                generator=name,
                workers=loader.workers,
            )
