from premortem.cards import Card
from premortem.detectors.base import TWICE, Detector, Findings
from premortem.events import Experimented
from premortem.findings import Severity

NOTICEABLE = 1e-3  # of the spread of the outputs: rounding is far below


class RowsTreatedDifferently(Detector):
    """What the model says about a sample depends on which row of the batch it is.

    ## Why it matters
    The rows of a batch are samples in a random order. A model that numbers them gives the same sample another answer in
    another place, and what was meant to be numbered (the places of a sequence, say) is not.

    ## Usual causes
    `torch.arange(x.size(0))` for the positions of a (batch, time) input; a position table that is added along the first
    dimension, as for inputs of (time, batch).

    ## What to do
    Number the dimension that holds the sequence: `torch.arange(x.size(1))`, and broadcast it over the batch.

    ## How it is measured
    The model is run again in eval mode, with the rows of its inputs rotated by one. Nothing may change but the order of
    the outputs. It stays silent when samples look at each other, when the model is random in eval mode, when it always
    gets the same data, and when each row has weights of its own (an ensemble): there is a layer for each, or a weight with as many
    entries, and half of the rows make it fail.
    """

    card = Card("PM419", "rows-treated-differently", "shape", Severity.ERROR).explaining(
        "uninformative-labels", "updates-too-small"
    )
    listens = (Experimented,)

    def observe(self, event: Experimented) -> Findings:
        alone = event.effects.get("other samples in the batch") == 0
        moved = event.effects.get("another order of the samples", 0.0)
        if not alone or moved < NOTICEABLE or event.noisy or event.same_input or event.own_rows:
            return
        if self.times(event.model) < TWICE:
            return
        self.over = True
        yield self.finding(
            event,
            f"`{event.name}` gives a sample another output in another row of the batch (inputs of {event.shape}): rotated by "
            f"one row, outputs change by {moved:.2g} of their spread",
            cause="Samples do not look at each other, so only the number of the row can make that difference: something "
            "is counted over the batch that was meant to be counted within a sample.",
            remedy="Look for arange(x.size(0)) or a table that is added along dimension 0; positions of a sequence belong to "
            "dimension 1.",
            module=event.name,
            change=moved,
            shape=event.shape,
        )
