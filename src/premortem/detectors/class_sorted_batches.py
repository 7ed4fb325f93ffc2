from collections import Counter

from premortem.detectors.base import Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.chance import BINARY, CLASSIFYING
from premortem.events import Backward, Event, LossCall, OptimizerBuilt, Site, StateLoaded
from premortem.profile.weighting import entropy

JUDGED = CLASSIFYING | BINARY | {"multi_margin_loss"}
BATCHES = 10  # before their order is judged: fewer say nothing about it
SMALLEST = 4  # labels in a batch that say something about how it was drawn
PURE = 0.4  # entropy within batches, as a share of that of all labels: a shuffled batch is near 1
CYCLES = 2  # times all classes went by, in the same order
# Batches of one class in a row. With two classes real and fake, or source and target, take turns faster than that;
# labels that come out of the data cannot be those.
LONG_BLOCK = 3
VERY_LONG_BLOCK = 8  # batches: two models that train in turns change sooner, whatever their labels are


class Sorted:
    """The labels of the batches that one loss was computed on, in order."""

    def __init__(self) -> None:
        self.batches = 0
        self.data = 0  # batches whose labels were seen to come out of the data
        self.labels: Counter[float] = Counter()
        self.within = 0.0  # sum of the batches' entropies
        self.order: list[float] = []  # classes in the order they came first
        self.blocks = 0  # runs of batches with the same most frequent class
        self.longest = 0
        self.repeats = True  # the blocks go through the classes in the same order again and again
        self._length = 0
        self._came: float | None = None  # the most frequent class of the last batch, and of the one before
        self._main: float | None = None

    def add(self, classes: Counter[float], data: bool) -> None:
        self.batches += 1
        self.data += data
        self.labels.update(classes)
        self.within += entropy(classes)
        # Where two classes meet, a small buffer mixes them: one batch of the next class among those of the last begins nothing.
        most = max(classes.values())
        came, self._came = self._came, min([label for label, number in classes.items() if number == most])
        if came is not None:
            self._place(self._main if self._came == self._main is not None else came)

    def _place(self, main: float) -> None:
        self._main = main
        if self.blocks and main == self.order[(self.blocks - 1) % len(self.order)]:
            self._length += 1
        else:
            self._block(main)
        self.longest = max(self.longest, self._length)

    def _block(self, label: float) -> None:
        self._length = 1
        if self.blocks == len(self.order) and label not in self.order:
            self.order.append(label)
        elif label != self.order[self.blocks % len(self.order)]:
            self.repeats = False
        self.blocks += 1

    @property
    def ratio(self) -> float:
        overall = entropy(self.labels)
        return self.within / self.batches / overall if overall else 1.0

    @property
    def sorted(self) -> bool:
        classes = len(self.order)
        if not self.repeats or classes < 2 or self.blocks < CYCLES * classes or self.batches < BATCHES:
            return False
        if classes == 2 and self.longest < (LONG_BLOCK if 2 * self.data >= self.batches else VERY_LONG_BLOCK):
            return False
        return self.ratio < PURE


class ClassSortedBatches(Detector):
    """The training batches come class by class instead of shuffled.

    ## Why it matters
    Each batch pulls the whole network towards one class and away from the one before. It forgets the others until
    the next epoch; the training loss looks low and the accuracy on shuffled data stays poor.

    ## Usual causes
    `shuffle=False` on a dataset that lists its folders one after the other; a file sorted by label; shuffling a copy.

    ## What to do
    `DataLoader(..., shuffle=True)`, or permute inputs and labels together before cutting batches.

    ## When it stays silent
    Until the classes have gone by twice in the same order, for labels that come back within an epoch (time series),
    for losses whose target alternates (real and fake), and for tasks that get their own optimizer or weights.
    """

    card = Card("PM331", "class-sorted-batches", "data-order", Severity.ERROR).explaining(
        "constant-labels", "uninformative-labels"
    )
    listens = (LossCall, Backward, OptimizerBuilt, StateLoaded)

    def __init__(self) -> None:
        self._open: dict[Site | None, list[LossCall]] = {}  # since the last backward
        self._sites: dict[Site | None, Sorted] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, LossCall):
            if event.grad and event.fn in JUDGED:
                self._open.setdefault(event.at, []).append(event)
        elif isinstance(event, Backward):
            yield from self._trained(event)
        elif isinstance(event, OptimizerBuilt) or (
            isinstance(event, StateLoaded) and event.target == "module"
        ):
            # A new task, client or fold: blocks are intended.
            self._sites.clear()

    def _trained(self, event: Backward) -> Findings:
        opened, self._open = self._open, {}
        for site, calls in opened.items():
            classes: Counter[float] = Counter()
            for call in calls:
                classes.update(call.classes or {})
            known = all(call.classes is not None for call in calls)
            if self.over or not known or sum(classes.values()) < SMALLEST:
                continue
            seen = self._sites.setdefault(site, Sorted())
            seen.add(classes, any(call.target_is_data for call in calls))
            if seen.sorted:
                yield self._found(event, site, seen)

    def _found(self, event: Backward, site: Site | None, seen: Sorted) -> Finding:
        order = seen.order
        shown = ", ".join(f"{label:g}" for label in order[:4]) + (", ..." if len(order) > 4 else "")
        return self.last_word(
            event,
            f"the training batches come class by class: {len(order)} classes go by in the order {shown}, and a batch "
            f"holds {seen.ratio:.0%} of the label variety of all {seen.batches} batches",
            cause="The data is sorted by label and not shuffled, so each step trains one class and unlearns the others.",
            remedy="Use `shuffle=True` in the training DataLoader, or permute inputs and labels together.",
            at=site,
            classes=len(order),
            ratio=round(seen.ratio, 3),
            batches=seen.batches,
        )
