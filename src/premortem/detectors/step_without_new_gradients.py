from __future__ import annotations

from premortem.detectors.base import THRICE, TOO_LARGE, Card, Detector, Findings, Severity
from premortem.events import OptimizerStep

WITHIN = 9  # steps, so that one in three is enough: every second step may be a real one


class StepWithoutNewGradients(Detector):
    """`step()` is called again on gradients that it has already used.

    ## Why it matters
    The same gradient moves the weights twice (or many times), as if the learning rate were higher, and the
    moments count it as new evidence each time.

    ## Usual causes
    - `step()` in the loop and once more in a helper or a callback
    - `scaler.step(optimizer)` and `optimizer.step()` both
    - `step()` in an inner loop without a backward pass of its own

    ## What to do
    One `step()` for one new set of gradients.

    ## When it stays silent
    When gradients are written by hand between the steps.
    """

    card = Card("PM124", "step-without-new-gradients", "update-order", Severity.ERROR).explaining(*TOO_LARGE)
    listens = (OptimizerStep,)

    def __init__(self) -> None:
        self._recent: dict[int, list[bool]] = {}

    def observe(self, event: OptimizerStep) -> Findings:
        recent = self._recent[event.optimizer] = [
            *self._recent.get(event.optimizer, [])[1 - WITHIN :],
            event.reused,
        ]
        # A loop that steps on one gradient over and over without any new one is no training: it is told too.
        if event.reused and sum(recent) >= THRICE and self.once(event.optimizer):
            yield self.finding(
                event,
                f"{event.kind} stepped {sum(recent)} of its last {len(recent)} times on gradients it had already used",
                cause="no backward pass and no zero_grad() came between this step() and the one before",
                remedy="call step() once for each backward pass (or accumulation window)",
                reused=sum(recent),
                steps=len(recent),
            )
