from premortem.derived.certificate import birth, evidence
from premortem.detectors.base import NOT_FINITE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.computed import Computed
from premortem.events import Event, NonFinite, OptimizerStep, RunEnded, SchedulerStep, Site


class RateNotFinite(Detector):
    """The learning rate of a step is NaN or infinite.

    ## Why it matters
    The gradients are sound, but the optimizer multiplies them by the rate: one such step makes every weight NaN. Under
    `protect` it is refused, and so is each one after it, because the schedule does not come back.

    ## Usual causes
    A schedule that is asked beyond its last step: `(1 - step / total) ** 0.9` or a root of what is below 0 then; a division
    by a count that is 0; a rate that follows a loss or a norm which was infinite once.

    ## What to do
    Keep the schedule inside its range (`min(step, total)`), and look at the line that computes the rate.

    ## When it stays silent
    For a rate of 0, and for rates that are only large.
    """

    card = Card("PM248", "rate-not-finite", "lr", Severity.ERROR).explaining(
        *NOT_FINITE, "non-finite-training", "weights-stay-non-finite", "overflow", "updates-too-large"
    )
    uses = (Computed,)
    listens = (OptimizerStep, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self._scheduled: Site | None = None  # where a scheduler was stepped last
        self._first: tuple[OptimizerStep, float] | None = None  # what made it is not known yet

    def observe(self, event: Event) -> Findings:
        if isinstance(event, SchedulerStep):
            self._scheduled = event.at
        elif self._first is not None:  # the next one was computed under the microscope
            seen = isinstance(event, OptimizerStep) and event.broken_rate is not None
            yield self._found(*self._first, self.fact(Computed).after(event.step - 1) if seen else None)
        elif isinstance(event, OptimizerStep) and event.broken_rate is not None:
            origin = self.fact(Computed).after(event.step - 1)
            if origin is not None:
                yield self._found(event, event.broken_rate, origin)
            else:
                self._first = (event, event.broken_rate)

    def _found(self, event: OptimizerStep, rate: float, origin: NonFinite | None) -> Finding:
        by_scheduler = None if event.rate_at is not None else self._scheduled
        return self.last_word(
            event,
            f"the learning rate of step {event.step} is {rate}{birth(origin)}",
            cause="The gradients are not to blame: the rate multiplies them, so every weight would become NaN.",
            remedy="Keep the schedule inside the range in which it is defined, and check the rate where it is computed.",
            at=origin.at if origin is not None else event.rate_at or by_scheduler,
            rate=str(rate),
            **evidence(origin),
        )
