import math

from premortem.derived.certificate import birth, evidence
from premortem.detectors.base import TWICE, Card, Detector, Findings, Severity
from premortem.detectors.shared.computed import Computed
from premortem.events import Backward, Event, SchedulerStep


class PlateauFedNonFinite(Detector):
    """ReduceLROnPlateau is fed a metric that is not a number.

    ## Why it matters
    Nothing compares as better than NaN, so every such call counts as a bad epoch: after `patience` of them the
    learning rate is cut, again and again, for no reason. It looks like a sudden drop of the rate.

    ## Usual causes
    A validation metric that is 0/0 (no samples, no positives), a NaN from one bad batch, an average over nothing.

    ## What to do
    Find out why the metric is NaN, and do not call `scheduler.step` with it.

    ## When it stays silent
    When the training loss itself is not finite: then that is the cause, and it is reported as such. An infinite
    metric (the PSNR of a perfect image) is left alone.
    """

    card = Card("PM206", "plateau-fed-non-finite", "scheduler", Severity.ERROR).explaining(
        "updates-too-small", "scheduler-past-horizon"
    )
    uses = (Computed,)
    listens = (Backward, SchedulerStep)

    def __init__(self) -> None:
        self._training_is_finite = True

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            if event.value is not None:
                self._training_is_finite = math.isfinite(event.value)
        elif isinstance(event, SchedulerStep) and event.metric is not None and math.isnan(event.metric):
            if self._training_is_finite and self.times(event.scheduler) == TWICE:
                origin = self.fact(Computed).after(event.step)
                yield self.finding(
                    event,
                    f"ReduceLROnPlateau was fed NaN {TWICE} times; the rate is {event.after:.3g}{birth(origin)}",
                    cause="NaN counts as a bad epoch, so the rate is cut although nothing got worse.",
                    remedy="Find out why the metric is NaN (an empty set, 0/0), and skip scheduler.step for it.",
                    rate=event.after,
                    calls=event.count,
                    at=origin.at if origin is not None else event.at,
                    **evidence(origin),
                )
