from collections.abc import Iterator

from premortem.amounts import share, some
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import DataProfiled, EpochEnded, EpochStarted, Event, RunEnded
from premortem.findings import Finding, Severity
from premortem.profile.between import only_in, phases


class ClassOnlyInEvaluation(Detector):
    """The evaluation has a class that training never shows.

    ## Why it matters
    No network answers with a class it has never seen. Every row of it is counted as wrong, and the score has a ceiling that
    no learning rate lifts.

    ## Usual causes
    A download or an export that broke off; a filter that removed a class from one file; a split by time or place that a class
    does not share; labels that are numbered from 0 in one file and from 1 in the other.

    ## What to do
    Count the labels of both splits where they are read, and make the training split again.

    ## When it stays silent
    When so few rows were seen that the class may yet come, as long as the run goes on (classes that are learnt one after the other), and when the two have hardly a class in common: retrieval and
    few-shot learning are judged on new classes on purpose.
    """

    card = Card("PM425", "class-only-in-evaluation", "data-labels", Severity.WARNING)
    listens = (DataProfiled, EpochStarted, EpochEnded, RunEnded)

    def __init__(self) -> None:
        self._last: DataProfiled | None = None
        self._began: dict[int, int] = {}  # loader -> the step at which its pass began
        self._trained: set[int] = set()  # loaders that steps were made with

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, DataProfiled):
            self._last = event
        elif isinstance(event, EpochStarted):
            self._began[event.loader] = event.step
        elif isinstance(event, EpochEnded):
            if event.step > self._began.get(event.loader, event.step):
                self._trained.add(event.loader)
        elif isinstance(event, RunEnded) and not event.cut_off and self._last is not None:
            yield from self._judge(event, self._last)

    def _judge(self, event: RunEnded, seen: DataProfiled) -> Iterator[Finding]:
        if len(self._trained) > sum(p.phase == "training" for p in seen.profiles):
            return  # a later loader, of which no row was looked at
        for trained, judged in phases(seen.profiles):
            # Tasks that come one after the other have a loader each.
            others = [p for p in seen.profiles if p.phase == "training" and p.model == trained.model]
            came = {label for other in others for label, _ in other.classes}
            absent = [each for each in only_in(trained, judged) if each[0] not in came]
            if absent and self.once(judged.name):
                total = sum(n for _, n in judged.classes)
                rows = sum(n for _, n in absent)
                names = [label for label, _ in absent]
                yield self.finding(
                    event,
                    f"class{'es' if len(names) > 1 else ''} {some(names)} {'are' if len(names) > 1 else 'is'} never a target in "
                    f"training, and {share(rows, total)} of the evaluation's targets",
                    cause=f"Of {sum(n for _, n in trained.classes)} training targets none is {some(names)}; of {total} in "
                    f"{judged.name}, {rows} are. No row of it is in the training data.",
                    remedy="Count the labels of both splits where they are read, and make the training split again.",
                    classes=names[:20],
                    rows=rows,
                    of=total,
                )
