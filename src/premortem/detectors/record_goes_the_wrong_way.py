import math

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.records import MISSED, ROUNDS, improved
from premortem.events import Event, HabitSeen
from premortem.metric_words import METRICS, direction, words


class RecordGoesTheWrongWay(Detector):
    """The result of an evaluation is compared with the best so far the wrong way round: the worst model is kept.

    ## Why it matters
    The training may be perfect; what is restored or saved in the end is the worst model of the run, or its first, and patience
    ends the run while it improves.

    ## Usual causes
    `if score < best` for a score that is better when higher, `if loss > best` for a loss; a metric that was exchanged for another
    one, or whose sign was turned, while the comparison stayed.

    ## What to do
    Turn the comparison round, and begin at infinity of the other sign.

    ## How it is measured
    The source of the loop says what is compared with which record, and that something is done then beside writing it down; their values
    are read when the next evaluation begins. The result was better than ever in at least four evaluations, by its name, and none of them was kept.

    ## When it stays silent
    For results whose name does not say which way is better, unless they are negative throughout (a loss with its sign turned); for a record that is
    not called one ("worst", "hardest"); in fewer than six evaluations.
    """

    card = Card(
        "PM164", "record-goes-the-wrong-way", "checkpoint", Severity.ERROR, subject="name"
    ).explaining("kept-the-worst")
    listens = (HabitSeen,)

    def __init__(self) -> None:
        self._rounds: dict[tuple[object, str], list[tuple[float, ...]]] = {}

    def observe(self, event: Event) -> Findings:
        if not isinstance(event, HabitSeen) or not event.kind.startswith("record") or len(event.values) != 2:
            return
        if not all(map(math.isfinite, event.values)):
            return
        rounds = self._rounds.setdefault((event.at, event.name), [])
        rounds.append(event.values)
        way, record = self._way(event, [now for now, _ in rounds]), rounds[-1][1]
        kept = 1 if event.kind == "record high" else -1
        if len(rounds) < ROUNDS or way != -kept or self.said((event.at, event.name)):
            return
        values = [way * now for now, _ in rounds]
        better = sum(improved(values))
        if better < MISSED or way * record > min(values) or not self.once((event.at, event.name)):
            return
        word = "higher" if way > 0 else "lower"
        yield self.finding(
            event,
            f"the model is kept when `{event.name}` is {'lower' if way > 0 else 'higher'} than `{event.other}`: it was better than "
            f"ever {better} times, up to {way * max(values):.4g}, and the record is {record:.4g}",
            cause=f"`{event.name}` is better when {word}, and the comparison goes the other way.",
            remedy=f"Keep the model when `{event.name}` is {word} than the best so far, and begin at {'-inf' if way > 0 else 'inf'}.",
            severity=None if direction(event.name) else Severity.WARNING,
            name=event.name,
            kept=record,
            best=way * max(values),
        )

    def _way(self, event: HabitSeen, values: list[float]) -> int:
        """Whether the result is better when higher (1) or lower (-1); 0 where that is not known."""
        if "best" not in words(event.other):
            return 0
        negative = all(value < 0 for value in values)
        way = direction(event.name)
        if way < 0 and negative:
            return 0  # a likelihood, perhaps, that is called a loss
        if not way and negative and words(event.name) & METRICS:
            return 1
        return way
