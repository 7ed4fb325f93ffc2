from __future__ import annotations

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.events import OptimizerStep


class LearningRateSetNowhere(Detector):
    """A learning rate is assigned where the optimizer does not look for it.

    ## Why it matters
    `optimizer.lr = 0.001` makes a new attribute that nobody reads: the optimizer goes on with the rate in its
    parameter groups, and the schedule that was meant never happens. Python does not complain.

    ## Usual causes
    A habit from other frameworks, or a misspelt key (`group["learning_rate"]`).

    ## What to do
    Assign to the groups: `for group in optimizer.param_groups: group["lr"] = 0.001`, or use a scheduler.
    """

    card = Card("PM216", "learning-rate-set-nowhere", "lr", Severity.ERROR)
    listens = (OptimizerStep,)

    def observe(self, event: OptimizerStep) -> Findings:
        if event.stray is None or self.said(event.optimizer):
            return
        if event.stray in event.lrs:
            return  # it says the same, so far
        self.once(event.optimizer)
        yield self.finding(
            event,
            f"the rate {event.stray:.3g} was set on {event.kind}, which goes on with {max(event.lrs, default=0.0):.3g}",
            cause="torch's optimizers read the rate from their parameter groups and nowhere else.",
            remedy='Assign it there: for group in optimizer.param_groups: group["lr"] = ...',
            stray=event.stray,
            rates=list(event.lrs),
        )
