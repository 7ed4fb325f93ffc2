from collections.abc import Iterator
from itertools import pairwise
from statistics import fmean

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.adversarial import Players
from premortem.detectors.shared.chance import Chance, Courses
from premortem.detectors.shared.printed import columns
from premortem.events import Event, LabelsWeighed, LogLine, RunEnded, Site
from premortem.findings import Certainty, Finding, Severity
from premortem.metric_words import ACCURACIES, RECORDS, TRAINED

_NOTHING = 3.0  # standard deviations above shuffled labels: below that, chance explains it
_NOTHING_AT_ALL = 2.0  # likewise, where the numbers alone must carry the verdict
_PLENTY = 8.0  # standard deviations, which chance never reaches: there is something to learn
_CLEARLY = 40.0  # standard deviations: next to that, what chance may reach among several tests is nothing
_PAIRS = 200  # of input and label, below which a weak relation looks like none
_MANY_PAIRS = 400  # where the verdict is that nothing is there: twice as many
_CALLS = 150  # of the loss: by then a network has learnt more than the frequencies, if there is more
_FEW_AGREE = 0.3  # by chance; where more do (clicks, defaults), a weak effect under much noise looks alike
_AT_CHANCE = 0.95  # of what guessing scores: below that something was learnt


class UninformativeLabels(Detector):
    """The labels have nothing to do with the inputs they are paired with.

    ## Why it matters
    The network can only learn how frequent each label is, or learn the training set by heart. Model, optimizer and loss are
    all in order, so one looks for the fault everywhere but in the data.

    ## Usual causes
    Inputs shuffled without their labels (or with another permutation); files and labels sorted differently; labels off by
    one row; a join on the wrong key; augmentation that mixes samples but not labels.

    ## What to do
    Look at ten pairs by eye. Shuffle indices, not arrays, and index both with the same ones.

    ## When it stays silent
    As long as anything in the inputs goes along with the labels, or the training loss falls below the level of guessing.
    A difficult task that a few hundred pairs do not give away is only reported when the network finds nothing in it either, and not where a
    generator is trained to leave its judge with a guess.
    """

    card = Card(
        "PM422",
        "uninformative-labels",
        "data-labels",
        Severity.WARNING,
        explains=("updates-too-small", "vanishing-gradients"),
    )
    uses = (Courses, Players)
    listens = (LabelsWeighed, LogLine, RunEnded)

    def __init__(self) -> None:
        self._weighed: dict[bool, LabelsWeighed] = {}
        self._repeated: LabelsWeighed | None = None
        self._accuracies: list[float] = []  # printed ones, other than those of the training set

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, LabelsWeighed):
            if event.repeats:
                self._repeated = event if event.training else self._repeated
            else:
                self._weighed[event.training] = event
                yield from self._contradiction(event)
        elif isinstance(event, LogLine):
            found = [
                value
                for names, (_, _, value) in zip(columns(event), event.values, strict=True)
                if _judges(names)
            ]
            kept = [v / 100 if v > 1 else v for v in found if 0 <= v <= 100]
            self._accuracies += kept[: 64 - len(self._accuracies)]
        elif isinstance(event, RunEnded):
            yield from self._again(event)
            yield from self._flat(event)

    def _again(self, event: RunEnded) -> Iterator[Finding]:
        """Positive evidence: the very same inputs come with other labels, as often as chance would have it."""
        again = self._repeated
        if again is None or again.repeats < _PAIRS or again.by_chance > 0.8:
            return
        if again.agreed > again.by_chance + 0.2 * (1 - again.by_chance):
            return
        for (site, _), course in self.fact(Courses).trained.items():
            level = course.level
            # What is learned all the same is no fault: a language with many next words, tasks that number their classes anew.
            if (
                level is None
                or course.values.count < _PAIRS // 4
                or course.values.tail() < _AT_CHANCE * level
            ):
                continue
            self.over = True
            clear = again.by_chance <= _FEW_AGREE
            yield self.finding(
                event,
                f"inputs that came again had the same label as before in only {again.agreed:.0%} of {again.repeats} "
                f"cases (chance: {again.by_chance:.0%})",
                cause="The same input is paired with another label each time, so there is nothing to learn from it: "
                f"the loss ended at {course.values.tail():.3g}, guessing scores {level:.3g}.",
                remedy="Inputs and labels are drawn, repeated or shuffled apart: use the same indices for both.",
                severity=Severity.ERROR if clear else None,
                certainty=Certainty.MEASURED if clear else Certainty.SUSPECTED,
                at=site,
                repeats=again.repeats,
                agreed=again.agreed,
                by_chance=again.by_chance,
            )
            return

    def _contradiction(self, event: LabelsWeighed) -> Iterator[Finding]:
        """Positive evidence: the labels do fit, one row further on, or in the other set."""
        train, other = self._weighed.get(True), self._weighed.get(False)
        if train is None or train.pairs < _PAIRS:
            return
        if other is not None and other.pairs >= _PAIRS and train.information > _CLEARLY:
            yield from self._judged_by_others(event, train, other)
        if train.information > _NOTHING and not next_to_nothing(train, other):
            return
        if event.training and event.shift and event.shifted_information > _PLENTY:
            self.over = True
            yield self.finding(
                event,
                f"the training labels say nothing about their own inputs, but everything about those "
                f"{abs(event.shift)} row{'s' if abs(event.shift) > 1 else ''} {'before' if event.shift > 0 else 'after'}",
                cause="Inputs and labels are shifted against each other.",
                remedy="Align them where they are read: a header line, a dropped row, or a lag on only one of them.",
                severity=Severity.ERROR,
                at=self._site(),
                pairs=event.pairs,
                information=round(event.information, 2),
                shifted=round(event.shifted_information, 2),
            )
        elif other is not None and other.information > _PLENTY and other.pairs >= 60:
            self.over = True
            yield self.finding(
                event,
                f"the training labels say nothing about their inputs (measured on {train.pairs} pairs); "
                f"those of the evaluation do",
                cause="Neighbouring inputs have like labels in the evaluation data and unlike ones in the training data: "
                "the training pairs were torn apart.",
                remedy="Shuffle inputs and labels with the same indices, and look at ten training pairs by eye.",
                severity=Severity.ERROR,
                at=self._site(),
                pairs=train.pairs,
                information=round(train.information, 2),
                evaluation=round(other.information, 2),
            )

    def _judged_by_others(
        self, event: LabelsWeighed, train: LabelsWeighed, judged: LabelsWeighed
    ) -> Iterator[Finding]:
        """The same the other way round: the labels of the evaluation do not belong to its inputs."""
        # A loader may hand out the number of each row where the training has its class.
        if bool(train.classes) is not bool(judged.classes) or judged.classes > train.classes:
            return
        # As many pairs show as much; a quarter of it may be lost to other places and times.
        if judged.information > _NOTHING or judged.information > train.information / 8:
            return
        self.over = True
        off = judged.shift if judged.shifted_information > _PLENTY else 0
        yield self.finding(
            event,
            f"the labels of the evaluation say nothing about their inputs (measured on {judged.pairs} pairs); those of the training do"
            + (
                f", and so do they {abs(off)} row{'s' if abs(off) > 1 else ''} {'before' if off > 0 else 'after'}"
                if off
                else ""
            ),
            cause="Neighbouring inputs have like labels in the training data and unlike ones in the evaluation data: the score is that of "
            "guessing, whatever the model has learnt.",
            remedy="Look at ten pairs of the evaluation by eye: were its inputs and labels shuffled, sorted or read apart?",
            pairs=judged.pairs,
            information=round(judged.information, 2),
            training=round(train.information, 2),
        )

    def _flat(self, event: RunEnded) -> Iterator[Finding]:
        """Nothing in the pairs, and nothing that the network found in them."""
        train = self._weighed.get(True)
        if self.over or train is None or train.pairs < _MANY_PAIRS or event.reason == "crashed":
            return
        if self.fact(Players).pairs():
            return  # a judge that is left with a guess is what its generator is trained for
        # A weak effect under much noise is not nothing, and looks alike from here.
        if train.information > _NOTHING_AT_ALL:
            return
        for (site, _), course in self.fact(Courses).trained.items():
            level = course.level
            if level is None or course.values.count < _CALLS:
                continue
            if bool(course.chance.classes) is not bool(train.classes):
                continue  # a loss of its own beside the one of these labels
            values = course.values.values
            ends = [len(values) * third // 3 for third in range(4)]
            best = min(fmean(values[first:last]) for first, last in pairwise(ends))
            learned = best < _AT_CHANCE * level
            if learned and not self._only_by_heart(course.chance):
                continue
            self.over = True
            tail = course.values.tail()
            yield self.finding(
                event,
                f"after {course.values.count} training losses the level is {tail:.3g}; guessing scores {level:.3g}"
                if not learned
                else f"the training loss falls to {tail:.3g} (guessing: {level:.3g}), the evaluation never beats guessing",
                cause=f"Measured on {train.pairs} training pairs, the labels go along with nothing in the inputs "
                f"({train.information:.1f} standard deviations above shuffled labels; real data shows tens).",
                remedy="Look at ten training pairs by eye: were inputs and labels shuffled or sorted apart?",
                certainty=Certainty.SUSPECTED,
                at=site,
                pairs=train.pairs,
                information=round(train.information, 2),
                chance=level,
                loss=tail,
            )
            return

    def _only_by_heart(self, chance: Chance) -> bool:
        """No evaluation was ever better than guessing, over several."""
        total = sum(chance.classes.values())
        if total and len(self._accuracies) >= 4:
            return max(self._accuracies) < max(chance.classes.values()) / total + 0.08
        for course in self.fact(Courses).judged.values():
            level = course.level
            if level is not None and course.values.count >= 3:
                return min(course.values.values) > level
        return False

    def _site(self) -> Site | None:
        return next((site for site, _ in self.fact(Courses).trained), None)


def next_to_nothing(train: LabelsWeighed, other: LabelsWeighed | None) -> bool:
    """The evaluation shows how much there is to find, and in training a tenth of it is not found."""
    return (
        other is not None
        and other.information > max(_CLEARLY, 10 * train.information)
        and train.information < _PLENTY
    )


def _judges(names: frozenset[str]) -> bool:
    """An accuracy of now, and not of the training set."""
    return bool(names & ACCURACIES) and not names & (TRAINED | RECORDS)
