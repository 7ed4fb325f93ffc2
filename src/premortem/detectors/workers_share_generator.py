from dataclasses import dataclass

from premortem.amounts import count
from premortem.detectors.base import TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.events import BatchDrawn, EpochStarted, Event, LoaderBuilt


@dataclass
class Watched:
    """A loader with workers."""

    built: LoaderBuilt
    epochs: int = 0
    first: int | None = None  # fingerprint of the very first batch
    index: int = -1  # of the last batch, and its fingerprint
    last: int | None = None
    alike: int = 0


class WorkersShareGenerator(Detector):
    """Every worker of a DataLoader has the same copy: the same random numbers, or the same stream.

    ## Why it matters
    A generator that the dataset holds is copied into each worker, and anew in each epoch: all workers draw the same
    numbers, and the augmentation is never new. An iterable dataset that does not divide its stream delivers
    everything once per worker.

    ## Usual causes
    `self.rng = np.random.default_rng(seed)` in `__init__`, used in `__getitem__`, with `num_workers > 0`; an
    `IterableDataset` that does not ask `get_worker_info()`.

    ## What to do
    Make the generator in the worker (`worker_init_fn`, seeded with `torch.initial_seed()`), or draw from torch's
    global generator, which is seeded for each worker and epoch. Let each worker take its own part of a stream.
    """

    card = Card("PM342", "workers-share-generator", "data-augment", Severity.ERROR).explaining(
        "same-batch-every-step"
    )
    listens = (LoaderBuilt, EpochStarted, BatchDrawn)

    def __init__(self) -> None:
        self._loaders: dict[int, Watched] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            if event.workers:
                self._loaders[event.loader] = Watched(event)
        elif isinstance(event, EpochStarted):
            if event.loader in self._loaders:
                self._loaders[event.loader].epochs += 1
        elif isinstance(event, BatchDrawn):
            watched = self._loaders.get(event.loader)
            if watched is not None and event.fingerprint is not None:
                yield from self._drawn(event, watched)

    def _drawn(self, event: BatchDrawn, watched: Watched) -> Findings:
        built = watched.built
        if event.index == watched.index + 1 and event.fingerprint == watched.last:
            watched.alike += 1
        watched.index, watched.last = event.index, event.fingerprint
        if watched.first is None:
            watched.first = event.fingerprint
        if watched.alike >= TWICE and built.workers > 1:
            what = f"{built.workers} workers deliver the same batches one after the other"
            yield self._found(event, built, what, certain=True)
        elif built.generators and watched.epochs >= TWICE and event.index == 0:
            # In a fixed order the repetition can be seen; in a shuffled one it follows from the copies.
            if event.fingerprint == watched.first:
                yield self._found(event, built, "every epoch begins with the same batch", certain=True)
            elif built.shuffle:
                what = f"{count(built.workers, 'worker')} start every epoch with the same copy of it"
                yield self._found(event, built, what, certain=False)

    def _found(self, event: BatchDrawn, built: LoaderBuilt, what: str, *, certain: bool) -> Finding:
        name = built.generators[0] if built.generators else ""
        if name:
            message = f"the dataset draws from `{name}`, and {what}"
            cause = "The generator is copied into the workers with the dataset, at the start of each epoch."
            remedy = "Make it in the worker (`worker_init_fn`, seeded with `torch.initial_seed()`), or use torch's own."
        else:
            message = what
            cause = "Every worker goes through the whole dataset, with the same random state."
            remedy = "Let each worker take its part (`torch.utils.data.get_worker_info()`), with a seed of its own."
        return self.last_word(
            event,
            message,
            cause=cause,
            remedy=remedy,
            at=built.at,
            severity=Severity.ERROR if certain else Severity.WARNING,
            certainty=Certainty.MEASURED if certain else Certainty.SUSPECTED,
            generator=name,
            workers=built.workers,
        )
