import math
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.events import DataProfiled, EpochEnded, Event, Forward, LossCall, RunEnded, Site
from premortem.findings import Finding, Severity

_CLASSES = frozenset({"cross_entropy", "nll_loss", "multi_margin_loss"})
# A layer with a bias of its own: one constant label is learned by the bias alone, so it cannot be what was meant.
# (Contrastive losses, whose label is always 0 on purpose, compare products of features.)
_HEADS = frozenset({"addmm", "linear", "convolution", "add", "log_softmax"})
_LABELS = 40  # of one value: for two balanced classes chance gives that once in 10^12


class Seen:
    """The labels of all losses of one kind."""

    def __init__(self) -> None:
        self.values: set[float] = set()
        self.labels = 0
        self.calls = 0
        self.data = True  # all of them were read from the data
        self.head = True  # all inputs came straight out of a layer
        self.at: Site | None = None
        self.last: LossCall | None = None


class ConstantLabels(Detector):
    """All training labels are the same.

    ## Why it matters
    The network learns to say that one thing whatever it is shown; the loss goes to zero and the accuracy to 100 %.

    ## Usual causes
    Fractions cut down by `.long()` or `astype(int)`; a threshold in the wrong unit; a lookup of names that never matches
    and falls back to 0; labels read from the wrong column; a split that left only one class.

    ## What to do
    Count the labels before training: `torch.unique(y, return_counts=True)`.

    ## When it stays silent
    Labels made on the spot (real and fake of a GAN, the zeros of a contrastive loss), a single sample that is learned by
    heart, and data sorted by class, as long as other labels come later.
    """

    card = Card(
        "PM421",
        "constant-labels",
        "data-labels",
        Severity.ERROR,
        explains=(
            "uninformative-labels",
            "updates-too-small",
            "vanishing-gradients",
            "metric-frozen",
            "dead-units",
        ),
        explains_here=("target-out-of-reach", "unscaled-targets"),
        explains_later=("class-sorted-batches",),
    )
    listens = (LossCall, Forward, EpochEnded, DataProfiled, RunEnded)

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._inputs: set[int] = set()
        self._first: int | None = None  # the first of them
        self._trained_since = False  # a loss was trained on since an epoch began

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, Forward):
            if event.grad and event.fingerprint is not None:
                # What comes again was seen once: so was all that lies between.
                again = event.fingerprint == self._first and len(self._inputs) >= THRICE
                self._first = event.fingerprint if self._first is None else self._first
                if len(self._inputs) < 64:
                    self._inputs.add(event.fingerprint)
                if again and self._trained_since:
                    self._trained_since = False
                    yield from self._judge(event)
        elif isinstance(event, LossCall):
            self._compared(event)
        elif isinstance(event, RunEnded) or (
            isinstance(event, (EpochEnded, DataProfiled)) and self._trained_since and whole(event)
        ):
            # Until the data has been seen once, sorted data looks the same.
            self._trained_since = False
            yield from self._judge(event)

    def _compared(self, event: LossCall) -> None:
        if not event.grad or event.target_min is None or event.target_max is None or event.target_grad:
            return
        self._trained_since = True
        by_class = event.fn in _CLASSES and len(event.target_shape) < len(event.input_shape)
        kind = f"class {event.input_shape[1:2]}" if by_class else "value"
        seen = self._seen.setdefault(kind, Seen())
        values = set(event.classes) if event.classes is not None else {event.target_min, event.target_max}
        values.discard(event.ignored if event.ignored is not None else -100.0)
        if len(seen.values) < 2:
            seen.values |= values
        seen.labels += math.prod(event.target_shape)
        seen.calls += 1
        seen.data = seen.data and (event.target_is_data or event.target_is_input)
        seen.head = seen.head and event.input_op in _HEADS
        seen.at, seen.last = event.at, event

    def _judge(self, event: Event) -> Iterator[Finding]:
        if len(self._inputs) < THRICE:
            return
        for kind, seen in self._seen.items():
            if len(seen.values) != 1 or seen.labels < _LABELS or seen.calls < THRICE:
                continue
            if not (seen.head if kind.startswith("class") else seen.data):
                continue
            self.over = True
            value = next(iter(seen.values))
            yield self.finding(
                event,
                f"all {seen.labels} training labels seen so far are {value:g}",
                cause="There is nothing to tell apart: the network only learns to repeat that one label.",
                remedy="Look at where the labels are made: a cast to integer, a threshold, a lookup that never matches. "
                "torch.unique(y, return_counts=True) shows it.",
                at=seen.at,
                label=value,
                labels=seen.labels,
            )
            return


def whole(event: EpochEnded | DataProfiled) -> bool:
    """Whether all of the training data has come by now. Drawn at random, a set is seen once its rows came several times over."""
    if isinstance(event, EpochEnded):
        return event.complete
    return any(p.phase == "training" and 0 < THRICE * (p.length or p.rows) <= p.rows for p in event.profiles)
