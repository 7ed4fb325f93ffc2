"""PM321 no-batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.detectors.shared.printed import MOST_KINDS, counted, kind_of
from premortem.detectors.shared.wording import count
from premortem.events import (
    Backward,
    BatchDrawn,
    EpochEnded,
    Event,
    Forward,
    LoaderBuilt,
    LogLine,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    Site,
)
from premortem.findings import Certainty, Finding, Severity

# What torch says to a sampler or a stack of nothing.
REFUSED = ("got num_samples=0", "expects a non-empty TensorList", "expected a non-empty list of Tensors")
LOST = frozenset(
    {"ZeroDivisionError", "UnboundLocalError", "NameError"}
)  # what follows a loop that never ran


class NoBatches(Detector):
    """A loop over the data gets nothing: no batch, or batches without a sample.

    ## Why it matters
    Nothing is trained or measured, the loss is the 0 it was initialised with, and the run ends as if all were well.

    ## Usual causes
    `drop_last=True` with a batch size above the number of samples; an empty folder, a wrong split name or a filter
    that removes everything; `range(len(x) // batch_size)` with too few samples; a mask that selects nothing.

    ## What to do
    Check `len(dataset)` and `len(loader)` before training, and stop when one is 0.
    """

    card = Card(
        code="PM321",
        name="no-batches",
        family="data-empty",
        severity=Severity.ERROR,
        explains=(
            "loader-exhausted",
            "fewer-samples-than-expected",
            "metric-frozen",
            "step-never-called",
            "scheduler-before-optimizer",
            "scheduler-never-stepped",
            "non-finite-training",
        ),
    )
    listens = (
        LoaderBuilt,
        BatchDrawn,
        EpochEnded,
        Forward,
        Backward,
        OptimizerBuilt,
        OptimizerStep,
        LogLine,
        RunEnded,
    )

    def __init__(self) -> None:
        self._loaders: dict[int, LoaderBuilt] = {}
        self._drawn: Counter[Site | None] = Counter()  # batches at each loop
        self._optimizer: OptimizerBuilt | None = None
        self._trains = False  # a backward came, or a step
        self._forwards = 0
        self._empty = 0
        self._numbers: dict[str, int] = {}  # last number of each kind of printed line
        self._epochs = 0  # how often one of them was counted up
        self._said: set[Site | None] = set()

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LoaderBuilt):
            self._loaders[event.loader] = event
        elif isinstance(event, BatchDrawn):
            self._drawn[event.at] += 1
        elif isinstance(event, EpochEnded):
            if not event.batches and not event.again and not self._drawn[event.at]:
                yield from self._nothing(event)
        elif isinstance(event, Forward):
            self._forwards += event.grad
            yield from self._batch(event)
        elif isinstance(event, (Backward, OptimizerStep)):
            self._trains = True
        elif isinstance(event, OptimizerBuilt):
            self._optimizer = self._optimizer or event
        elif isinstance(event, LogLine):
            number, kind = counted(event), kind_of(event)
            if number is not None and len(self._numbers) < MOST_KINDS:
                self._epochs += number == self._numbers.get(kind, number) + 1
                self._numbers[kind] = number
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _nothing(self, event: EpochEnded) -> Iterator[Finding]:
        if event.at in self._said:
            return
        self._said.add(event.at)
        loader = self._loaders.get(event.loader)
        samples = loader.samples if loader is not None else None
        size = loader.batch_size if loader is not None else None
        dropped = bool(loader and loader.drop_last and samples)
        if dropped and size:
            why = f"{count(samples or 0, 'sample')} do not fill one batch of {size}, and `drop_last=True` drops it."
            remedy = "Lower the batch size, or set `drop_last=False`."
        else:
            why = "The dataset is empty." if samples == 0 else "The dataset or its sampler yields nothing."
            remedy = (
                "Check the path, the split and the filters of the dataset; stop when `len(dataset)` is 0."
            )
        certain = dropped or not self._trains
        yield self.finding(
            event,
            "a DataLoader yielded no batch"
            + (f" ({count(samples, 'sample')})" if samples is not None else ""),
            cause=f"{why} The loop over it never runs.",
            remedy=remedy,
            severity=Severity.ERROR if certain else Severity.WARNING,
            samples=samples,
            batch_size=size,
        )

    def _batch(self, event: Forward) -> Iterator[Finding]:
        if not (event.grad and event.tracked):
            return
        self._empty = self._empty + 1 if event.samples == 0 else 0
        if self._empty == THRICE and event.at not in self._said:
            self._said.add(event.at)
            yield self.finding(
                event,
                f"the last {THRICE} training batches had no samples",
                cause="An index, mask or filter selects nothing, so the loss is computed over zero samples.",
                remedy="Look at what selects the batch, and skip or refuse empty ones.",
            )

    def _ended(self, event: RunEnded) -> Iterator[Finding]:
        if self._said or self._trains:
            return
        crashed = event.reason == "crashed"
        if crashed and any(text in event.message for text in REFUSED):
            yield self._over(event, f"there was nothing to make batches of ({event.message[:80]})", event.at)
        elif self._optimizer is not None and not self._forwards:
            if self._epochs:
                epochs = f"{self._epochs + 1} epochs went by without a single training step"
                yield self._over(
                    event, f"{epochs}: an optimizer was built, and no batch came", self._optimizer.at
                )
            elif crashed and event.error in LOST:
                yield self._over(event, f"no batch came before the run ended with a {event.error}", event.at)

    def _over(self, event: RunEnded, message: str, at: Site | None) -> Finding:
        crashed = event.error in LOST
        return self.finding(
            event,
            message,
            cause="The loop over the batches never ran, because there is nothing in what it goes over.",
            remedy="Check the number of samples and of batches before training, and stop when one is 0.",
            at=at,
            severity=Severity.WARNING if crashed else Severity.ERROR,
            certainty=Certainty.SUSPECTED if crashed else Certainty.MEASURED,
            epochs=self._epochs,
        )
