from collections import Counter
from dataclasses import dataclass, field

from premortem.amounts import count
from premortem.detectors.base import TWICE, Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.printed import MOST_KINDS, columns, digits, kind_of
from premortem.events import Custody, EvaluationEnded, Event, LogLine, RunEnded
from premortem.metric_words import EVALUATED, LOSSES, RECORDS, SCORES, TRAINED

ENOUGH = 5  # lines: with four digits each, five equal measurements do not happen
PRECISE = 4  # significant digits, at which two measurements of moving weights differ
IMPROVED = 0.2  # share by which another number in the line fell, so that there was something to see


@dataclass
class Lines:
    """All lines of one template so far."""

    first: LogLine
    steps: list[int] = field(default_factory=list)
    same: list[bool] = field(default_factory=list)  # for each column: equal in all lines so far
    latest: tuple[tuple[str, str, float], ...] = ()


class MetricFrozen(Detector):
    """A metric of the evaluation is the same to the last digit in every epoch, while training goes on.

    ## Why it matters
    A measurement of weights that move is never the same twice to four digits. Something between the weights and
    the printed number is stale.

    ## Usual causes
    Predictions computed once and judged again and again; a copy of the model that is never updated; a variable of the
    first epoch that is printed in every one.

    ## What to do
    Compute predictions and metric anew in each evaluation, from the model that is trained.

    ## When it stays silent
    Records ("best"), accuracies and other shares (a model that predicts one class has a constant accuracy), numbers
    with fewer than four digits, lines in which another metric of the evaluation moves.
    """

    card = Card("PM304", "metric-frozen", "eval-stale", Severity.WARNING, subject="label")
    listens = (LogLine, EvaluationEnded, Custody, RunEnded)

    def __init__(self) -> None:
        self._lines: dict[str, Lines] = {}
        self._weights: dict[int, set[int]] = {}  # evaluated model -> checksums of its weights,
        self._times: Counter[int] = Counter()  # ... in so many evaluations
        self._moves = False

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Custody):
            self._moves = self._moves or any(link.moved for link in event.links)
        elif isinstance(event, EvaluationEnded):
            if event.weights is not None:
                self._weights.setdefault(event.model, set()).add(event.weights)
                self._times[event.model] += 1
        elif isinstance(event, LogLine):
            self._printed(event)
        elif isinstance(event, RunEnded) and self._moves:
            for lines in self._lines.values():
                yield from self._judge(event, lines)

    def _printed(self, event: LogLine) -> None:
        kind = kind_of(event)
        lines = self._lines.get(kind)
        if lines is None:
            if len(self._lines) < MOST_KINDS:
                self._lines[kind] = Lines(event, [event.step], [True] * len(event.values), event.values)
            return
        if event.step > lines.steps[-1] and len(event.values) == len(lines.same):
            lines.steps.append(event.step)
            first = lines.first.values
            lines.same = [s and first[i][1] == event.values[i][1] for i, s in enumerate(lines.same)]
            lines.latest = event.values

    def _judge(self, event: RunEnded, lines: Lines) -> Findings:
        if self.over or len(lines.steps) < ENOUGH or lines.steps[0] == 0:
            return
        values, names = lines.first.values, columns(lines.first)
        frozen = [i for i, same in enumerate(lines.same) if same and is_measured(names[i], values[i][1])]
        moving = [i for i, same in enumerate(lines.same) if not same]
        # "val mse 0.52 (naive 0.91)": the one that counts moves.
        if not frozen or any(names[i] & EVALUATED for i in moving) or not improved(lines, names, moving):
            return
        yield self._found(event, lines, values[frozen[0]][0], values[frozen[0]][1])

    def _found(self, event: RunEnded, lines: Lines, label: str, text: str) -> Finding:
        stale = any(
            len(weights) == 1 and self._times[model] >= TWICE for model, weights in self._weights.items()
        )
        moved = any(len(weights) > 1 for weights in self._weights.values())
        if moved:
            why = "The evaluated weights did change, so the number is not computed from the model's new predictions."
        elif stale:
            why = "The weights that were evaluated are not those that were trained: they never changed."
        else:
            why = "No model was run to compute it after the first time."
        return self.last_word(
            event,
            f"`{label}` is {text} in all {count(len(lines.steps), 'line')} from step {lines.steps[0]} to "
            f"{lines.steps[-1]}, while training went on",
            cause=why,
            remedy="Compute predictions and metric anew in each evaluation, from the model that is trained.",
            at=lines.first.at,
            certainty=Certainty.MEASURED,
            label=label,
            value=text,
            lines=len(lines.steps),
        )


def is_measured(names: frozenset[str], text: str) -> bool:
    """A loss of the evaluation with enough digits to be different each time."""
    is_loss = bool(names & EVALUATED) and not names & (RECORDS | SCORES)
    return is_loss and "." in text and digits(text) >= PRECISE


def improved(lines: Lines, names: tuple[frozenset[str], ...], moving: list[int]) -> bool:
    """Another loss or score in the line got clearly better or worse."""
    for i in moving:
        before, after = lines.first.values[i][2], lines.latest[i][2]
        measures = names[i] & (LOSSES | SCORES | TRAINED)
        if measures and abs(after - before) > IMPROVED * max(abs(before), abs(after)):
            return True
    return False
