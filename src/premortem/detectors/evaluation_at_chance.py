import math
from collections import deque
from statistics import median

from premortem.amounts import count
from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.chance import Courses
from premortem.detectors.shared.printed import MOST_KINDS, columns, kind_of
from premortem.events import Backward, EvaluationEnded, Event, LogLine, OptimizerBuilt, RunEnded
from premortem.metric_words import ACCURACIES, COUNTERS, EVALUATED, RECORDS, SCORES, TRAINED

_FEWEST = 5  # evaluations: so many in a row are not all unlucky
_ENOUGH = 100  # steps, below which a script may just have been tried out
_LEARNT = 0.8  # of the training loss at first: what is above has hardly learnt its training samples either
_FIRST, _LAST = 10, 20  # passes, of which the median is taken
_EVEN = 0.6  # of the labels at most are of one class: where one class is nearly all there is, guessing is hard to beat
_NEAR = 0.06  # of a score: by so much chance may move one that a few hundred samples make
_DEVIATIONS = 3.0  # of what chance makes of a score: over several evaluations, hardly one goes further
_NOTHING = {"auc": 0.5, "auroc": 0.5, "r2": 0.0, "kappa": 0.0, "mcc": 0.0}  # what guessing scores
# What a script wants to be at chance, and scores of another task than the one that is trained, which has other classes.
_WANTED = frozenset(
    "d g disc discriminator critic real fake domain adv adversary adversarial attack attacker privacy random shuffled noise "
    "knn probe linear downstream transfer zeroshot shot retrieval".split()
)


class EvaluationAtChance(Detector):
    """The training loss falls, and no evaluation was ever better than guessing.

    ## Why it matters
    What the model learns of its training samples says nothing about others. More training does not change that, and the falling loss
    looks like progress.

    ## Usual causes
    Labels that belong to other rows (a join by the wrong key, clocks that disagree, a sorted file); an evaluation whose classes are
    numbered otherwise; data in which the labels do not follow from the inputs; far too few samples.

    ## What to do
    Look at ten pairs of input and label by eye, first of the training data, then of the evaluation. `premortem why` trains with the labels
    of other samples: if that is as good, the labels say nothing.

    ## When it stays silent
    When a score was ever better than guessing, in fewer than five evaluations or a hundred steps, while the training loss does not fall
    either, with several optimizers (what one of them wants to be at chance is the other's success), and for accuracies where one class is nearly all
    there is. Better is what chance does not make of as many samples: a weak effect in many (an R² of 0.02 of daily returns) is one. Under anything else that is found: it shows what that did.
    """

    card = Card("PM391", "evaluation-at-chance", "data-labels", Severity.WARNING, symptom=True)
    uses = (Courses,)
    listens = (Backward, EvaluationEnded, LogLine, OptimizerBuilt, RunEnded)

    def __init__(self) -> None:
        self._scores: dict[tuple[str, int], list[float]] = {}  # by kind of line and place in it
        self._names: dict[tuple[str, int], frozenset[str]] = {}
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=_LAST)
        self._optimizers: set[int] = set()
        self._samples = 0  # of the largest evaluation

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerBuilt):
            self._optimizers.add(event.optimizer)
        elif isinstance(event, EvaluationEnded):
            self._samples = max(self._samples, event.samples)
        elif isinstance(event, Backward):
            if event.value is not None and abs(event.value) < float("inf"):
                if len(self._first) < _FIRST:
                    self._first.append(event.value)
                self._last.append(event.value)
        elif isinstance(event, LogLine):
            self._read(event)
        elif (
            isinstance(event, RunEnded)
            and event.step >= _ENOUGH
            and len(self._optimizers) == 1
            and self._learnt()
        ):
            yield from self._judge(event)

    def _read(self, event: LogLine) -> None:
        kind = kind_of(event)
        for place, (names, (label, _, value)) in enumerate(zip(columns(event), event.values, strict=True)):
            key = kind, place
            if label in COUNTERS or not names & SCORES or names & (TRAINED | RECORDS | _WANTED):
                continue
            if key in self._scores or len(self._scores) < MOST_KINDS:
                self._names[key] = names
                self._scores.setdefault(key, []).append(value)

    def _learnt(self) -> bool:
        return len(self._first) == _FIRST and 0 < median(self._last) < _LEARNT * median(self._first)

    def _judge(self, event: RunEnded) -> Findings:
        said = {key for key, names in self._names.items() if names & EVALUATED}
        judged = {key: self._scores[key] for key in said or self._scores if len(self._scores[key]) >= _FEWEST}
        at_chance = {
            key: bound
            for key, values in judged.items()
            if (bound := self._guessing(self._names[key], values)) is not None
        }
        # Another score may well show that something was learnt.
        if not at_chance or len(at_chance) < len(judged):
            return
        key, bound = next(iter(at_chance.items()))
        values = self._scores[key]
        name = next(word for word in sorted(self._names[key] & SCORES))
        yield self.finding(
            event,
            f"{count(len(values), 'evaluation')} gave {name} {min(values):.3g} to {max(values):.3g}, and guessing gives {bound:.3g}; meanwhile the training "
            f"loss fell from {median(self._first):.3g} to {median(self._last):.3g}",
            cause="What is learned of the training samples says nothing about those of the evaluation: labels that belong to other rows, classes that are "
            "numbered otherwise, or samples that are learned by heart.",
            remedy="Look at ten pairs of input and label by eye, of the training data and of the evaluation; `premortem why` tries the labels of other samples.",
            metric=name,
            best=max(values),
            guessing=bound,
            evaluations=len(values),
        )

    def _guessing(self, names: frozenset[str], values: list[float]) -> float | None:
        """What guessing scores, where no evaluation was better."""
        known = [_NOTHING[word] for word in names if word in _NOTHING]
        if known:
            # That of a correlation is 1 / root of n, that of a share half of it at most. R² is the square of a correlation.
            near = self._by_chance(0.5 if known[0] else 1.0, square="r2" in names)
            return known[0] if max(values) <= known[0] + near else None
        if not names & ACCURACIES:
            return None
        share = self._largest_class()
        scale = 100.0 if max(values) > 1 else 1.0
        if share is None or share > _EVEN or max(values) / scale > share + self._by_chance(0.5):
            return None
        return share * scale

    def _by_chance(self, deviation: float, square: bool = False) -> float:
        """How far chance moves a score with this deviation for a single sample."""
        far = _DEVIATIONS * deviation / math.sqrt(self._samples) if self._samples else math.inf
        return min(_NEAR, far * far if square else far)

    def _largest_class(self) -> float | None:
        """Its share of the labels that are trained on."""
        found = [
            course.chance.classes
            for course in self.fact(Courses).trained.values()
            if len(course.chance.classes) >= 2
        ]
        if len(found) != 1:
            return None
        return max(found[0].values()) / sum(found[0].values())
