import math

from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.printed import columns
from premortem.events import EvaluationEnded, Event, LogLine, StepStats
from premortem.metric_words import RECORDS

RATIOS = frozenset("psnr snr sdr sisdr sisnr".split())  # infinite only when the error is exactly 0


class ComparedWithItself(Detector):
    """A PSNR of the evaluation is infinite: it compares two tensors that are identical to the last bit.

    ## Why it matters
    No trained model is that good. The number says nothing about the model, the first "best" checkpoint is never beaten,
    and a plateau scheduler sees no progress any more.

    ## Usual causes
    The target is compared with itself (a wrong variable); the input is the target (a pair whose degraded image was never
    made, or was made in place); all images are constant.

    ## What to do
    Look at one pair that is compared, and at the two tensors that go into the metric.

    ## When it stays silent
    When the training loss is 0 too (then the model may really copy), and after a single evaluation.
    """

    card = Card("PM455", "compared-with-itself", "loss-definition", Severity.WARNING).explaining(
        "plateau-wrong-mode", "plateau-fed-non-finite", "metric-frozen"
    )
    listens = (StepStats, LogLine, EvaluationEnded)

    def __init__(self) -> None:
        self._learning = False  # the last loss of the training was finite, and not 0
        self._printed: tuple[LogLine, str, bool] | None = None  # the line, the name of the number, infinite?

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StepStats):
            self._learning = event.loss is not None and math.isfinite(event.loss) and event.loss != 0
        elif isinstance(event, LogLine):
            found = ratio(event)
            self._printed = found or self._printed
            if found is not None and not found[2]:  # also of an evaluation that was only counted
                self.in_a_row("infinite", False)
        elif isinstance(event, EvaluationEnded):
            printed, self._printed = self._printed, None
            if printed is None or printed[0].step != event.step or not event.trained:
                return
            line, label, infinite = printed
            times = self.in_a_row("infinite", infinite and self._learning)
            if times >= TWICE:
                yield self.last_word(
                    line,
                    f"`{label}` was infinite in {times} evaluations in a row, while the training loss is not 0",
                    cause="It is infinite only when the metric compares two identical tensors: a target with itself, or an "
                    "input that already is the target.",
                    remedy="Look at the two tensors that go into the metric, and at one pair of the data.",
                    printed=line.text.strip(),
                )


def ratio(line: LogLine) -> tuple[LogLine, str, bool] | None:
    """The first such ratio in the line."""
    for (label, _, value), names in zip(line.values, columns(line), strict=True):
        if names & RATIOS and not names & RECORDS:
            return line, label, value == math.inf
    return None
