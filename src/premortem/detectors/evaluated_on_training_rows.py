import math
import re
from collections.abc import Iterator

from premortem.amounts import share
from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector
from premortem.events import DataProfiled, Event, RunEnded
from premortem.findings import Finding, Severity
from premortem.metric_words import TRAINED
from premortem.profile.facts import Overlap, Profile

_FEWEST = 10  # rows: a few copies are in every collection
_PART = 0.2  # of the evaluation: small tables have some rows twice by nature
_SURE = 3.0  # standard errors: one evaluation in a thousand lies beyond by chance


class EvaluatedOnTrainingRows(Detector):
    """Rows that the model is judged by are rows that it was trained on.

    ## Why it matters
    What is measured on them is memory. The score is too good, the best checkpoint is the one that has overfitted most, and
    it shows when the model meets new data.

    ## Usual causes
    A split job that drew the validation rows from the training rows; a file that was filled twice; copies in the source that
    were split at random.

    ## What to do
    Make the split again, by person, device or day, and remove what is in both files. `premortem check --data DIR` names rows.

    ## When it stays silent
    When the evaluation reads the very array or dataset that is trained on (the training accuracy), when another evaluation
    shares nothing with the training, and below a fifth of the rows. When the training rows repeat each other as often: of a few
    categories, or of whole numbers, new rows are mostly known ones. Where all rows of an evaluation are trained on, it is reported once
    they were evaluated twice, or at the end: a look at the training accuracy comes before the evaluation of other rows.
    """

    card = Card("PM344", "evaluated-on-training-rows", "data-order", Severity.WARNING)
    listens = (DataProfiled, RunEnded)

    def __init__(self) -> None:
        self._last: DataProfiled | None = None

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, DataProfiled):
            self._last = event
            yield from self._judge(event, over=False)
        elif isinstance(event, RunEnded) and self._last is not None and not event.cut_off:
            yield from self._judge(self._last, over=True)

    def _judge(self, event: DataProfiled, *, over: bool) -> Iterator[Finding]:
        judged = [p for p in event.profiles if p.phase == "evaluation" and p.sampled >= _FEWEST]
        once = {p.name for p in judged if p.rows < TWICE * p.distinct}
        shared = {o.second for o in event.overlaps}
        clean = [p for p in judged if p.name not in shared]
        known = {p.name: by_nature(p) for p in event.profiles if p.phase == "training"}
        for found in event.overlaps:
            part = found.shared / found.of
            if found.shared < _FEWEST or part < _PART or is_meant(found, clean):
                continue
            nature = known.get(found.first, 0.0)
            if part <= nature + _SURE * math.sqrt(nature * (1 - nature) / found.of):
                continue
            if not over and found.shared == found.of and found.second in once:
                continue  # the training accuracy, perhaps, and another evaluation is to come
            if self.once(found.second):
                yield self._leak(event, found)

    def _leak(self, event: DataProfiled, found: Overlap) -> Finding:
        return self.finding(
            event,
            f"{found.shared} of {found.of} rows of {found.second} that were compared ({share(found.shared, found.of)}) are also "
            f"in {found.first}, which is trained on",
            cause=f"The evaluation and the training data share rows (leak), number for number: {found.example}.",
            remedy="Make the split again so that no row is in both; until then the evaluation measures memory.",
            shared=found.shared,
            of=found.of,
            training=found.first,
            evaluation=found.second,
        )


def is_meant(found: Overlap, clean: list[Profile]) -> bool:
    """A look at the training accuracy: by its name, or beside an evaluation that shares nothing."""
    words = set(re.split(r"[^a-z]+", found.second.lower()))
    return bool(words & TRAINED) or bool(clean)


def by_nature(trained: Profile) -> float:
    """Of new rows from where the training rows come from, the part that is among these, at most: as far as these repeat each other.

    Of `n` draws from equally likely rows, `1 - exp(-t)` of all that there are came, each `t` times on average. Where some rows are more
    likely than others, as many repetitions stand for fewer known ones."""
    drawn = trained.rows if trained.is_made else min(trained.length or trained.rows, trained.rows)
    if not 0 < trained.distinct < drawn:
        return 0.0
    low, high = 0.0, drawn / trained.distinct
    for _ in range(50):
        times = (low + high) / 2
        low, high = (times, high) if -math.expm1(-times) / times > trained.distinct / drawn else (low, times)
    return -math.expm1(-low)
