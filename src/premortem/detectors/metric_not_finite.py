import math
import re

from premortem.derived.certificate import advice, birth, blame, certainty
from premortem.detectors.base import TWICE, Card, Certainty, Detector, Findings, Severity
from premortem.detectors.shared.computed import Computed
from premortem.detectors.shared.printed import MOST_KINDS, columns
from premortem.events import EvaluationEnded, Event, Forward, HabitSeen, LogLine, NonFinite, StepStats
from premortem.metric_words import EVALUATED, LOSSES, METRICS, RECORDS, SCORES, TRAINED, words


class MetricNotFinite(Detector):
    """A number of the evaluation is NaN or infinite, while the loss of the training is finite.

    ## Why it matters
    Training looks well, but this number cannot choose anything: no comparison with NaN is true, so the best
    checkpoint stays the first one, early stopping stops never or at once, and a plateau scheduler misjudges.

    ## Usual causes
    An evaluation set that is empty (a mean over nothing), samples there that training never sees, statistics of batch
    norm that one bad batch has ruined, a metric that divides by a count of zero.

    ## What to do
    Look at the operation that is named: it was seen at work, or numpy has warned about it. Where none is, the next evaluation
    is looked at; or print the number for each batch, and look at the first for which it is not finite.

    A number that is printed is read, and one that is not: where the source of the loop says `if score > best: best = score`, the variable
    is looked at when the next evaluation begins. There it must be NaN after two evaluations in a row, and the operation known.

    ## When it stays silent
    When no model was evaluated before the line was printed (NaN stands for "not yet"), for records ("best: inf"), and
    for scores, of which some are not defined for a class that does not occur: unless the operation is known that made the
    number, and the score is broken in two evaluations in a row. A score that is not called that of an evaluation counts where its line
    comes after the last call of the model without gradients and before the training goes on; while it has never been finite, it is a remark
    (the mean over the episodes that have ended, of which there is none yet).
    """

    card = Card("PM454", "metric-not-finite", "numerics-nan", Severity.WARNING)
    uses = (Computed,)
    listens = (StepStats, LogLine, Forward, EvaluationEnded, HabitSeen)

    def __init__(self) -> None:
        self._sound = False  # the last loss of the training was finite
        self._printed: tuple[LogLine, str, str] | None = None  # the line, the name of the number, the number
        self._origin: NonFinite | None = None  # of that number
        self._kind = ""  # of the lines in which one was not finite
        self._asked: int | None = None  # the step in which a model was called without gradients last
        self._unnamed = False  # the score in that line is not called the evaluation's own
        self._finite: set[str] = set()  # scores that were finite once, by their labels
        self._undefined = 0  # evaluations in a row whose score is not finite

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StepStats):
            self._sound = event.loss is not None and math.isfinite(event.loss) and event.worst is None
        elif isinstance(event, LogLine):
            if self._sound:
                self._read(event)
        elif isinstance(event, Forward):
            self._asked = None if event.grad else event.step
            if self._asked is not None and self._unnamed:
                self._printed = None  # it was printed before: not about this evaluation
        elif isinstance(event, HabitSeen):
            yield from self._compared(event)
        elif isinstance(event, EvaluationEnded):
            printed, self._printed = self._printed, None
            # The event comes when training goes on: after the line that was printed about it.
            if printed is None or not event.trained:
                self._undefined = 0
            elif printed[0].step == event.step:
                yield from self._judged(*printed)
            else:  # the line was about another one, which was only counted
                self._undefined = 0

    def _read(self, line: LogLine) -> None:
        if len(self._finite) < MOST_KINDS:
            self._finite |= {label for label, _, value in line.values if math.isfinite(value)}
        own = broken(line, LOSSES) or broken(line, SCORES, named=True)
        found = own or broken(line, SCORES)
        if own or (found and self._asked == line.step):
            self._printed, self._kind, self._unnamed = found, line.template, own is None
            self._origin = self.fact(Computed).after(line.step) or self._origin
        elif found is None and line.template == self._kind:  # also of an evaluation that was only counted
            self._undefined = 0

    def _compared(self, event: HabitSeen) -> Findings:
        """A result and the best so far, as the loop holds them when the next evaluation begins."""
        if not event.kind.startswith("record") or len(event.values) != 2:
            return
        origin = self.fact(Computed).first
        broken = math.isnan(event.values[0])
        often = self.in_a_row((event.at, event.name), broken)
        if often < TWICE or origin is None or not self._sound or self.said("known") or not self.once("known"):
            return
        yield self.finding(
            event,
            f"`{event.name}` was nan after each of the last {often} evaluations, while the training loss is finite{birth(origin)}",
            cause=f"No comparison with NaN is true, so that the record ({event.values[1]:.4g}) is never replaced.",
            remedy=advice(origin),
            certainty=certainty(origin),
            name=event.name,
            **blame(origin),
        )

    def _judged(self, line: LogLine, label: str, text: str) -> Findings:
        origin, loss = self._origin, bool(broken(line, LOSSES))
        self._undefined = 0 if loss else self._undefined + 1
        if not loss and (origin is None or self._undefined < TWICE):
            return
        guessed = not loss and self._unnamed and label not in self._finite
        # Once without its origin, and again when that was seen at work.
        known = "guessed" if guessed else "known" if origin is not None else ""
        if not self.once(known) or (not known and self.said("known")):
            return
        self.over = not guessed and origin is not None and origin.watched
        name = label if words(label) & METRICS else "loss"
        yield self.finding(
            line,
            f"`{name}` of the evaluation after step {line.step} was {text}, while the training loss is finite{birth(origin)}",
            cause="The cause lies in the evaluation: its data, the number of its samples, or what only eval mode uses.",
            remedy=advice(origin)
            if origin is not None
            else "Find the first batch of the evaluation for which it is not finite, and check that there are any batches.",
            severity=Severity.INFO if guessed else None,
            certainty=Certainty.SUSPECTED if guessed else certainty(origin),
            printed=line.text.strip(),
            **blame(origin),
        )


def broken(line: LogLine, kind: frozenset[str], named: bool = False) -> tuple[LogLine, str, str] | None:
    """A number of the evaluation in this line that is not finite: a loss, or a score, perhaps one that is called the evaluation's own."""
    for (label, text, value), names in zip(line.values, columns(line), strict=True):
        # Of a loss the training has one too. A score that an evaluation was just made for need not be called its own.
        about = names & EVALUATED or (kind is SCORES and not named and not names & TRAINED)
        if not math.isfinite(value) and names & kind and about and not names & RECORDS:
            if not replaced(text, line.text):
                return line, label, text
    return None


def replaced(text: str, line: str) -> bool:
    """Whether the number is what another one came in the place of: `decreased (inf --> 4.6)`, `from inf to 4.6`."""
    number = rf"(?<![\w.]){re.escape(text)}\s*"
    return re.search(rf"{number}(?:[-=~]*>|→|⟶|\bto\b)\s*[-+]?(?:\d|\.\d)", line, re.IGNORECASE) is not None
