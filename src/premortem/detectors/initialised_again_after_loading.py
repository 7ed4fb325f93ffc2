from premortem.amounts import count, some
from premortem.detectors.base import Card, Certainty, Detector, Findings, Severity
from premortem.events import InitialisedAgain


class InitialisedAgainAfterLoading(Detector):
    """A restored layer initialises itself again on its first batch, and overwrites the weights that were loaded.

    ## Why it matters
    What was trained is replaced by what fits one batch. The loss jumps after the restart, or the layers behind it get inputs
    that they were never trained on.

    ## Usual causes
    `self.initialized = False` of a layer that initialises itself from its first batch (ActNorm, weight normalisation): a
    plain attribute is in no state dict, so that a restored layer does not know that it was initialised.

    ## What to do
    Make the flag a buffer: `self.register_buffer("initialized", torch.tensor(False))`, and set it with `fill_(True)`.

    ## How it is measured
    Before and after the first calls of the model after a load, and before the first step: a flag of a layer has turned, and weights of that
    layer were written.

    ## When it stays silent
    When the script itself turns the flag and writes the weights, between two calls: adapters that are merged, layers that are folded.
    """

    card = Card("PM319", "initialised-again-after-loading", "persistence", Severity.ERROR, sudden=True)
    listens = (InitialisedAgain,)

    def observe(self, event: InitialisedAgain) -> Findings:
        if self.once(event.model):
            layer = ".".join(part for part in (event.name, event.layer) if part)
            yield self.finding(
                event,
                f"`{layer}` wrote over {some(event.parameters)} that had just been loaded, and set `{event.flag}`"
                + (f"; so did {count(event.layers - 1, 'other layer')}" if event.layers > 1 else ""),
                cause=f"`{event.flag}` is a plain attribute: the state dict does not hold it, and the restored layer begins anew.",
                remedy=f"Register `{event.flag}` as a buffer, and write into it in place.",
                certainty=Certainty.PROVED,
                module=layer,
                parameter=event.parameters[0],
                parameters=list(event.parameters),
            )
