from collections import Counter

from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.printed import MOST_KINDS, counted, kind_of
from premortem.events import (
    Backward,
    BatchDrawn,
    EpochEnded,
    Event,
    Forward,
    LoaderBuilt,
    LogLine,
    OptimizerStep,
    RunEnded,
    Site,
)

# What torch says to a sampler or a stack of nothing.
REFUSED = ("got num_samples=0", "expects a non-empty TensorList", "expected a non-empty list of Tensors")
# What follows a loop that never ran.
LOST = frozenset({"ZeroDivisionError", "UnboundLocalError", "NameError"})


class NoBatches(Detector):
    """A loop over the data gets nothing: no batch, or batches without a sample.

    ## Why it matters
    Nothing is trained or measured, the loss is the 0 it was initialised with, and the run ends without an error.

    ## Usual causes
    `drop_last=True` with a batch size above the number of samples; an empty folder, a wrong split name or a filter
    that removes everything; `range(len(x) // batch_size)` with too few samples; a mask that selects nothing.

    ## What to do
    Check `len(dataset)` and `len(loader)` before training, and stop when one is 0.
    """

    card = Card("PM321", "no-batches", "data-empty", Severity.ERROR).explaining(
        "loader-exhausted",
        "fewer-samples-than-expected",
        "metric-frozen",
        "step-never-called",
        "scheduler-before-optimizer",
        "scheduler-never-stepped",
        "non-finite-training",
    )
    uses = (Optimizers,)
    listens = (LoaderBuilt, BatchDrawn, EpochEnded, Forward, Backward, OptimizerStep, LogLine, RunEnded)

    def __init__(self) -> None:
        self._loaders: dict[int, LoaderBuilt] = {}
        self._drawn: Counter[Site | None] = Counter()  # batches at each loop
        self._trains = False  # a backward came, or a step
        self._forwards = 0
        self._numbers: dict[str, int] = {}  # last number of each kind of printed line
        self._epochs = 0  # how often one of them was counted up
        self._found = False

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LoaderBuilt):
            self._loaders[event.loader] = event
        elif isinstance(event, BatchDrawn):
            self._drawn[event.at] += 1
        elif isinstance(event, EpochEnded):
            if not event.batches and not event.again and not self._drawn[event.at] and self._speaks(event.at):
                yield from self._nothing(event)
        elif isinstance(event, Forward):
            self._forwards += event.grad
            yield from self._batch(event)
        elif isinstance(event, (Backward, OptimizerStep)):
            self._trains = True
        elif isinstance(event, LogLine):
            number, kind = counted(event), kind_of(event)
            if number is not None and len(self._numbers) < MOST_KINDS:
                self._epochs += number == self._numbers.get(kind, number) + 1
                self._numbers[kind] = number
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _nothing(self, event: EpochEnded) -> Findings:
        loader = self._loaders.get(event.loader)
        samples = loader.samples if loader is not None else None
        size = loader.batch_size if loader is not None else None
        dropped = bool(loader and loader.drop_last and samples)
        remedy = "Check the path, the split and the filters of the dataset; stop when `len(dataset)` is 0."
        if dropped and size:
            why = f"{count(samples or 0, 'sample')} do not fill one batch of {size}, and `drop_last=True` drops it."
            remedy = "Lower the batch size, or set `drop_last=False`."
        else:
            why = "The dataset is empty." if samples == 0 else "The dataset or its sampler yields nothing."
        yield self.finding(
            event,
            "a DataLoader yielded no batch"
            + (f" ({count(samples, 'sample')})" if samples is not None else ""),
            cause=f"{why} The loop over it never runs.",
            remedy=remedy,
            severity=Severity.ERROR if dropped or not self._trains else Severity.WARNING,
            samples=samples,
            batch_size=size,
        )

    def _batch(self, event: Forward) -> Findings:
        if not (event.grad and event.tracked):
            return
        if self.in_a_row("empty", event.samples == 0) == THRICE and self._speaks(event.at):
            yield self.finding(
                event,
                f"the last {THRICE} training batches had no samples",
                cause="An index, mask or filter selects nothing, so the loss is computed over zero samples.",
                remedy="Look at what selects the batch, and skip or refuse empty ones.",
            )

    def _speaks(self, at: Site | None) -> bool:
        self._found = True
        return self.once(at)

    def _ended(self, event: RunEnded) -> Findings:
        if self._found or self._trains:
            return
        crashed = event.reason == "crashed"
        if crashed and any(text in event.message for text in REFUSED):
            yield self._over(
                event, f"the loader had nothing to make batches of ({event.message[:80]})", event.at
            )
        elif (built := list(self.fact(Optimizers).built)) and not self._forwards:
            if self._epochs:
                epochs = f"{self._epochs + 1} epochs passed without a single training step"
                what = f"{epochs}: the script built an optimizer, and no batch came"
                yield self._over(event, what, self.fact(Optimizers).at(built[0]))
            elif crashed and event.error in LOST:
                yield self._over(event, f"no batch came before the run ended with a {event.error}", event.at)

    def _over(self, event: RunEnded, message: str, at: Site | None) -> Finding:
        crashed = event.error in LOST
        return self.finding(
            event,
            message,
            cause="The loop over the batches never ran, because what it goes over is empty.",
            remedy="Check the number of samples and of batches before training, and stop when one is 0.",
            at=at,
            severity=Severity.WARNING if crashed else Severity.ERROR,
            certainty=Certainty.SUSPECTED if crashed else Certainty.MEASURED,
            epochs=self._epochs,
        )
