from __future__ import annotations

from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import StateMisplaced


class OptimizerStateMisplaced(Detector):
    """The optimizer's moments were loaded for other parameters than those they were saved for.

    ## Why it matters
    An optimizer's state dict has no names: the third entry goes to the third parameter, whichever that is. Moments of
    one layer then drive another. Where the shapes agree nothing is raised, and the loss jumps or never recovers.

    ## Usual causes
    Layers were registered in another order, or one was added in the middle, since the checkpoint was written; the
    parameter groups are built in another order (a set, weight decay groups, a changed filter).

    ## What to do
    Register the layers in the old order, or map the state by name:
    `torch.distributed.checkpoint.state_dict.set_optimizer_state_dict`, or `premortem.Vault`, which does.
    """

    card = Card("PM335", "optimizer-state-misplaced", "checkpoint", Severity.ERROR)
    listens = (StateMisplaced,)

    def observe(self, event: StateMisplaced) -> Findings:
        if self.once(event.optimizer):
            first = event.pairs[0]
            yield self.finding(
                event,
                f"{event.kind} was loaded with the state of other parameters: that of `{first.saved}` went to "
                f"`{first.now}`",
                cause=self._cause(event),
                remedy="Build the model and the parameter groups in the order of the run that was saved, or map the "
                "state by name (`torch.distributed.checkpoint.state_dict`, `premortem.Vault`).",
                parameter=first.now.split(" ")[0],
                certainty=Certainty.PROVED if event.known_by == "names" else Certainty.MEASURED,
                known_by=event.known_by,
                pairs=[list(pair) for pair in event.pairs],
            )

    def _cause(self, event: StateMisplaced) -> str:
        how = {
            "names": "The names in the state are in another order than those of the optimizer",
            "order": "The weights in the file are in another order than those of the model",
            "shapes": "The shapes of the moments are not those of the parameters",
        }[event.known_by]
        return f"{how}, and optimizer state is mapped by position, in silence."
