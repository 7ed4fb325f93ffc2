from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.stored import Stored
from premortem.events import DataProfiled
from premortem.findings import Certainty, Finding, Severity
from premortem.profile.between import phases
from premortem.profile.facts import Profile

_TIMES = 5.0  # as many rows in the evaluation
_FEW = 512  # rows: who trains on more has a reason for a large evaluation
_ROUNDS = 3  # passes over the training rows


class EvaluationDwarfsTraining(Detector):
    """The run trains on a handful of rows, over and over, and is judged by many times as many.

    ## Why it matters
    Splits are nearly always the other way round. A smoke test's limit, a filter that kept a single day, a download that broke
    off: the loss falls nicely on what is left, and the model knows nothing.

    ## Usual causes
    A limit on the rows from a configuration file, an option or the environment; the two splits exchanged; a file that was
    cut off.

    ## What to do
    Look at how many rows the training set has where it is read, and assert it.

    ## When it stays silent
    Fewer than three passes over the training rows, more than 512 of them, and a training that has other, many rows beside them. In a run that reads
    no file of data, and trains on no part of a larger set, or that trains several models, it is a remark: a few points and a dense grid beside them were made up that way.
    """

    card = Card(
        "PM345",
        "evaluation-dwarfs-training",
        "data-empty",
        Severity.WARNING,
        explains=("same-batch-every-step",),
    )
    uses = (Models, Optimizers, Stored)
    listens = (DataProfiled,)

    def observe(self, event: DataProfiled) -> Iterator[Finding]:
        pairs = list(phases(event.profiles, seen=repeated))
        for trained in dict.fromkeys(trained for trained, _ in pairs):
            mine = rows_of(trained)
            others = [(different(judged), judged) for other, judged in pairs if other is trained]
            if not mine or mine > _FEW or trained.rows < _ROUNDS * mine or not others:
                continue
            most, largest = max(others, key=lambda pair: pair[0])
            # A few labels beside many rows without: what is trained on is both.
            beside = (p.distinct for p in event.profiles if p.phase == "training" and p is not trained)
            if most < _TIMES * max(mine, *beside, 0) or not self.once(trained.name):
                continue
            stored = self.fact(Stored).data or (trained.total or 0) > mine
            limited = stored and not self._several(event, trained)
            yield self.finding(
                event,
                f"the training set has only {mine} rows, the evaluation {most} ({most / mine:.0f} times as many)",
                cause=f"{trained.name} holds {mine} different rows, which were trained on at least {trained.rows // mine} times each"
                + (
                    f"; the dataset it is a part of has {trained.total}"
                    if (trained.total or 0) > mine
                    else ""
                )
                + f". {largest.name} holds {most}.",
                remedy="Find the limit: an option, a configuration file, a variable of the environment, a file that was cut off.",
                severity=None if limited else Severity.INFO,
                certainty=Certainty.MEASURED if limited else Certainty.SUSPECTED,
                training=mine,
                evaluation=most,
                total=trained.total,
            )

    def _several(self, event: DataProfiled, trained: Profile) -> bool:
        """A script that trains several models on such rows chooses how many each gets: folds, rounds of self-training, a curve."""
        models = {p.model for p in event.profiles if columns(p) == columns(trained)} - {trained.model}
        seen = self.fact(Models).seen
        held = frozenset[int]().union(*(each.held for each in self.fact(Optimizers).built.values()))
        return any(
            held & {parameter.key for parameter in seen[model].parameters}
            for model in models
            if model in seen
        )


def columns(profile: Profile) -> list[str]:
    return [column.name for column in profile.columns]


def rows_of(trained: Profile) -> int:
    """Different rows that were trained on, where all of them can have been seen."""
    if trained.rows >= _ROUNDS * trained.distinct and trained.distinct >= 2:
        return trained.distinct
    return 0


def different(judged: Profile) -> int:
    """Different rows of an evaluation: of its length, which may not have been seen to its end, as many as of those that were seen."""
    if not judged.length or judged.rows >= judged.length:
        return judged.distinct
    return round(judged.length * judged.distinct / judged.rows)


def repeated(judged: Profile) -> bool:
    """Where an epoch is one step, the evaluation comes with each step: the same rows from end to end, again and again."""
    return judged.phase == "step" and bool(judged.length) and judged.rows >= _ROUNDS * (judged.length or 0)
