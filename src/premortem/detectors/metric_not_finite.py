import math

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.printed import columns
from premortem.events import EvaluationEnded, Event, LogLine, StepStats
from premortem.metric_words import EVALUATED, LOSSES, RECORDS, words


class MetricNotFinite(Detector):
    """The loss of the evaluation is NaN or infinite, while that of the training is finite.

    ## Why it matters
    Training looks well, but this number cannot choose anything: no comparison with NaN is true, so the best
    checkpoint stays the first one, early stopping stops never or at once, and a plateau scheduler misjudges.

    ## Usual causes
    An evaluation set that is empty (a mean over nothing), samples there that training never sees, statistics of batch
    norm that one bad batch has ruined, a metric that divides by a count of zero.

    ## What to do
    Print the number for each batch of the evaluation, and look at the first batch for which it is not finite.

    ## When it stays silent
    When no model was evaluated before the line was printed (NaN stands for "not yet"), for records ("best: inf"), and
    for scores, of which some are not defined for a class that does not occur.
    """

    card = Card("PM454", "metric-not-finite", "numerics-nan", Severity.WARNING)
    listens = (StepStats, LogLine, EvaluationEnded)

    def __init__(self) -> None:
        self._sound = False  # the last loss of the training was finite
        self._printed: tuple[LogLine, str, str] | None = None  # the line, the name of the number, the number

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StepStats):
            self._sound = event.loss is not None and math.isfinite(event.loss) and event.worst is None
        elif isinstance(event, LogLine):
            if self._sound:
                self._printed = broken(event) or self._printed
        elif isinstance(event, EvaluationEnded):
            printed, self._printed = self._printed, None
            # The event comes when training goes on: after the line that was printed about it.
            if printed is not None and printed[0].step == event.step and event.trained:
                line, label, text = printed
                name = label if words(label) & LOSSES else "loss"
                yield self.last_word(
                    line,
                    f"`{name}` of the evaluation after step {line.step} was {text}, while the training loss is finite",
                    cause="The cause lies in the evaluation: its data, the number of its samples, or what only eval mode uses.",
                    remedy="Find the first batch of the evaluation for which it is not finite, and check that there are any batches.",
                    printed=line.text.strip(),
                )


def broken(line: LogLine) -> tuple[LogLine, str, str] | None:
    """A loss of the evaluation in this line that is not finite."""
    for (label, text, value), names in zip(line.values, columns(line), strict=True):
        if not math.isfinite(value) and names & LOSSES and names & EVALUATED and not names & RECORDS:
            return line, label, text
    return None
