from collections import deque
from collections.abc import Iterator

from premortem.cards import Card
from premortem.derived.certificate import advice, birth, blame, certainty, known
from premortem.derived.failures import climbing
from premortem.detectors.base import Detector
from premortem.detectors.shared.computed import Computed
from premortem.detectors.shared.models import Models
from premortem.events import (
    Event,
    NonFinite,
    OptimizerStep,
    ScalerUpdate,
    StepRefused,
)
from premortem.findings import Finding, Severity


class UpdateRefused(Detector):
    """A step was not made, because its update would not have been finite.

    ## Why it matters
    One NaN in one gradient makes every weight NaN. Policy `protect` keeps such an update away: weights, optimizer
    state and scheduler are as before the step, and the run goes on with the next batch. What made it may come
    again.

    ## Usual causes
    A sample with NaN or infinite values, the logarithm or root of a number that is not positive, a division by 0,
    a gradient of `sqrt` or of a norm at 0, 16-bit numbers that overflow.

    ## What to do
    Look at the batch and at the operation that is named. One bad batch in a long run may be left to be refused; if
    refusals go on, the run is stopped with its last good weights saved.

    ## When it stays silent
    While the learning rate climbs without end (a range test is there to find the limit), and when a gradient
    scaler leaves a step out although the loss was finite: that is its work.
    """

    card = Card("PM447", "update-refused", "numerics-nan", Severity.WARNING)
    uses = (Models, Computed)
    listens = (NonFinite, OptimizerStep, ScalerUpdate, StepRefused)

    def __init__(self) -> None:
        self._origin: NonFinite | None = None  # of what is not finite in this step
        self._rates: deque[float] = deque(maxlen=64)

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerStep):
            if event.lrs:
                self._rates.append(event.lrs[0])
            if not event.refused:
                self._origin = None
        elif isinstance(event, NonFinite):
            self._origin = self._origin or event
        elif climbing(list(self._rates)):
            return
        elif isinstance(event, StepRefused) and event.reason != "memory":
            self.over = True
            yield self._refused(event)
        elif isinstance(event, ScalerUpdate) and event.loss is not None:
            self.over = True
            yield self._left_out(event, event.loss)

    def _known(self) -> NonFinite | None:
        """What broke the step; of data, the operation of the script's that made them so, where one was seen to."""
        if not known(self._origin) or self._origin is None:
            return None
        return self.fact(Computed).explains(self._origin) or self._origin

    def _left_out(self, event: ScalerUpdate, loss: float) -> Finding:
        """By a gradient scaler, which cannot help here."""
        origin = self._known()
        where = batches(event.batches)
        return self.finding(
            event,
            f"the gradient scaler left out the step{where}: the loss was {loss:.4g} before it was scaled{birth(origin)}",
            cause="The loss itself is broken, so the scale is halved for nothing, and falls with every such batch.",
            remedy="Find what makes it: the batch, or the operation. A smaller scale does not help.",
            certainty=certainty(origin),
            batch=event.batches[1] if event.batches is not None else None,
            **blame(origin),
        )

    def _refused(self, event: StepRefused) -> Finding:
        name = self.fact(Models).parameter(event.worst, "a parameter")
        piece = (
            f" in the piece of rank {event.rank}, and all ranks left it out" if event.rank is not None else ""
        )
        what = (
            f"the gradient of {name} was not finite{piece}"
            if event.reason == "gradient"
            else "the optimizer would have made numbers that are not finite from gradients that were"
        )
        origin = self._known()
        where = f",{batches(event.batches)}" if event.batches is not None else ""
        loss = f" (loss {event.loss:.4g})" if event.loss is not None else ""
        told = blame(origin)
        if event.rank is not None:
            told["piece_of_rank"] = event.rank
        return self.finding(
            event,
            f"step {event.step} was refused{where}: {what}{loss}{birth(origin)}",
            cause="Applied, it would have made every weight NaN. Weights and optimizer state are as before the step.",
            remedy=f"{what_to_do(origin)} Until then such steps are left out.",
            certainty=certainty(origin),
            parameter=name if event.worst is not None else None,
            batch=event.batches[1] if event.batches is not None else None,
            **told,
        )


def batches(drawn: tuple[int, int] | None) -> str:
    """Those that were drawn for the step; with several, any of them may be the bad one."""
    if drawn is None:
        return ""
    first, last = drawn
    return (
        f" on batch {last} of its epoch" if first == last else f" on batches {first} to {last} of their epoch"
    )


def what_to_do(origin: NonFinite | None) -> str:
    return advice(origin) if origin is not None else "Find what makes it: the batch, or the operation."
