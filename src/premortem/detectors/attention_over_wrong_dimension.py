from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import GraphWalked


class AttentionOverWrongDimension(Detector):
    """The weights of an attention sum to one over another dimension than the one that is summed over.

    ## Why it matters
    `weights @ values` sums over the last dimension of the weights, the keys. If softmax ran over the queries (or the batch),
    a query may get any total weight, and what it attends to depends on the other queries.

    ## Usual causes
    `softmax(scores, dim=1)` on (batch, queries, keys); `nn.Softmax()` without `dim`; code for two dimensions that was given a
    batch.

    ## What to do
    `softmax(scores, dim=-1)`.

    ## When it stays silent
    Weights that are normalised again before the product, as in slot attention, and products over a transposed softmax, as in
    linear attention.
    """

    card = Card("PM416", "attention-over-wrong-dimension", "shape", Severity.ERROR).explaining(
        "over-the-batch-dimension",
        "uninformative-labels",
        "sample-depends-on-batch",
        "rows-treated-differently",
        "updates-too-small",
        "vanishing-gradients",
    )
    listens = (GraphWalked,)

    def observe(self, event: GraphWalked) -> Findings:
        if event.crossed and self.times("crossed") >= THRICE:
            shape, dim = event.crossed[0]
            yield self.last_word(
                event,
                f"attention weights of shape {shape} are normalised over dimension {dim}, and then summed over dimension "
                f"{len(shape) - 1}",
                cause="The weights that one query gives to its keys do not sum to one.",
                remedy="softmax(scores, dim=-1)",
                shape=shape,
                dim=dim,
            )
