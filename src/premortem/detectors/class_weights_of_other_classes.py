from collections import Counter
from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import EpochEnded, EpochStarted, Event, LossCall, RunEnded, Site
from premortem.findings import Finding, Severity
from premortem.profile.weighting import grows, misplaced

# Targets: with fewer, which class is the more frequent one is chance.
_ENOUGH = 100
_MOST = 200  # calls of one line that are counted


class ClassWeightsOfOtherClasses(Detector):
    """The weights of the classes go along with how frequent they are, instead of against it, or are in another order.

    ## Why it matters
    Weights are there to lift rare classes. In the wrong order they bury them: the most frequent class gets the largest weight,
    the rare ones are ignored, and the loss looks better than ever.

    ## Usual causes
    A file of weights that belongs to another list of classes, or another order of it; counts used where their inverse was
    meant.

    ## What to do
    Compute the weights from the labels of this training set, in the order of its classes.

    ## When it stays silent
    When weights or counts are within a factor of three, and when the relation is not clear: neither do the weights grow with the counts, nor
    are they their inverse once both are sorted.
    """

    card = Card("PM427", "class-weights-of-other-classes", "data-labels", Severity.WARNING)
    listens = (LossCall, EpochStarted, EpochEnded, RunEnded)

    def __init__(self) -> None:
        self._weights: dict[Site | None, tuple[float, ...]] = {}
        self._counts: dict[Site | None, Counter[int]] = {}
        self._trained = 0  # losses with a gradient that were reported
        self._began: dict[int, int] = {}  # loader -> how many there were when its pass began

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LossCall):
            self._trained += event.grad
            if event.weights and event.grad:
                self._weights[event.at] = event.weights
            if event.at in self._weights and event.classes and event.grad and self.times(event.at) <= _MOST:
                counts = self._counts.setdefault(event.at, Counter())
                counts.update({int(label): number for label, number in event.classes.items()})
        elif isinstance(event, EpochStarted):
            self._began[event.loader] = self._trained
        elif isinstance(event, RunEnded) or (isinstance(event, EpochEnded) and self._whole(event)):
            for at, weights in self._weights.items():
                if not self.said(at):
                    yield from self._judge(event, at, weights, self._counts.get(at, Counter()))

    def _whole(self, event: EpochEnded) -> bool:
        """Whether each batch of this pass was trained on: a part of sorted data has other counts."""
        trained = self._trained - self._began.get(event.loader, self._trained)
        return event.complete and trained >= event.batches > 0

    def _judge(
        self, event: Event, at: Site | None, weights: tuple[float, ...], counts: Counter[int]
    ) -> Iterator[Finding]:
        pairs = [(counts[k], w) for k, w in enumerate(weights)]
        moved = misplaced(pairs)
        if counts.total() < _ENOUGH or not (moved or grows(pairs)):
            return
        self.once(at)
        frequent = max(range(len(weights)), key=lambda k: counts[k])
        rare = min((k for k in range(len(weights)) if counts[k]), key=lambda k: counts[k])
        yield self.finding(
            event,
            f"class {frequent}, the most frequent with {counts[frequent]} targets, has weight {weights[frequent]:.3g}; class {rare}, the "
            f"rarest with {counts[rare]}, has {weights[rare]:.3g}",
            cause="The weights are those of these counts, in another order of the classes."
            if moved
            else "The weights of the classes grow with how frequent these are: they are those of other classes, or in another order.",
            remedy="Compute the weights from the labels of this training set, in the order of its classes.",
            at=at,
            weights=list(weights[:20]),
            counts=[counts[k] for k in range(len(weights))][:20],
        )
