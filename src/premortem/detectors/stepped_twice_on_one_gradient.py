from premortem.amounts import count, some
from premortem.detectors.base import THRICE, TOO_LARGE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import Backward, Event, OptimizerStep, ZeroGrad


class SteppedTwiceOnOneGradient(Detector):
    """Two optimizers hold the same parameter and both step it on the same gradient.

    ## Why it matters
    The parameter moves twice per batch, with two learning rates and two sets of moments: far more than either
    optimizer was set up for. A part that should learn slowly is destroyed by the other optimizer.

    ## Usual causes
    - one optimizer for the backbone, and a second one built on `model.parameters()`, which includes it
    - an embedding that two modules share, and an optimizer for each of them

    ## What to do
    Give every parameter to one optimizer. For different rates use parameter groups of one optimizer.

    ## When it stays silent
    When there is a new backward pass (or `zero_grad`) between the two steps.
    """

    card = Card("PM104", "stepped-twice-on-one-gradient", "optimizer-ownership", Severity.ERROR).explaining(
        *TOO_LARGE, "step-without-new-gradients"
    )
    uses = (Models, Optimizers)
    listens = (Backward, ZeroGrad, OptimizerStep)

    def __init__(self) -> None:
        self._stepped: list[int] = []  # optimizers that stepped on the current gradients

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Backward):
            self._stepped.clear()
        elif isinstance(event, ZeroGrad):
            self._stepped = [key for key in self._stepped if key not in event.cleared]
        elif isinstance(event, OptimizerStep) and event.with_grad and not event.closure:
            mine = self.fact(Optimizers).held(event.optimizer)
            for other in self._stepped:
                shared = mine & self.fact(Optimizers).held(other)
                if other == event.optimizer or not shared or not event.backwards:
                    continue
                if self.times((other, event.optimizer)) == THRICE:
                    yield self._found(event, other, shared)
            self._stepped.append(event.optimizer)

    def _found(self, event: OptimizerStep, other: int, shared: frozenset[int]) -> Finding:
        optimizers = self.fact(Optimizers)
        names = [name for key in sorted(shared) if (name := self.fact(Models).parameter(key))]
        # The one that holds more is the one that was given too much.
        larger = max((other, event.optimizer), key=lambda key: len(optimizers.held(key)))
        return self.finding(
            event,
            f"two optimizers step {count(len(shared), 'parameter')} ({some(names) or 'shared'}) on the same gradient",
            cause=f"the optimizers built at {optimizers.at(other)} and {optimizers.at(event.optimizer)} both hold them, and "
            "both step after each backward pass",
            remedy="leave them out of one of the two; for another learning rate use a parameter group",
            at=optimizers.at(larger),
            parameter=names[0] if names else None,
            parameters=len(shared),
        )
