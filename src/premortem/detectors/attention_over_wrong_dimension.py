"""PM416 attention-over-wrong-dimension."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import THRICE, Detector
from premortem.events import GraphWalked
from premortem.findings import Finding, Severity


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

    card = Card(
        code="PM416",
        name="attention-over-wrong-dimension",
        family="shape",
        severity=Severity.ERROR,
        explains=(
            "over-the-batch-dimension",
            "uninformative-labels",
            "sample-depends-on-batch",
            "rows-treated-differently",
            "updates-too-small",
            "vanishing-gradients",
        ),
    )
    listens = (GraphWalked,)

    def __init__(self) -> None:
        self._walks = 0

    def observe(self, event: GraphWalked) -> Iterator[Finding]:
        if not event.crossed:
            return
        self._walks += 1
        if self._walks < THRICE:
            return
        self.over = True
        shape, dim = event.crossed[0]
        yield self.finding(
            event,
            f"attention weights of shape {shape} are normalised over dimension {dim}, and then summed over dimension "
            f"{len(shape) - 1}",
            cause="The weights that one query gives to its keys do not sum to one.",
            remedy="softmax(scores, dim=-1)",
            shape=shape,
            dim=dim,
        )
