"""PM518 sigmoid-into-bce-with-logits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.outputs import Outputs, losses
from premortem.lint.project_facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, argument

_FUNCTIONS = frozenset(("torch.nn.functional.binary_cross_entropy_with_logits",))
_LAYERS = frozenset(("torch.nn.BCEWithLogitsLoss",))


class SigmoidIntoBceWithLogits(Rule):
    """The model already returns probabilities, and the loss applies a sigmoid to them once more.

    ## Why it matters
    Sigmoid of a number between 0 and 1 lies between 0.5 and 0.73: the loss cannot fall below 0.31 for positives and
    0.69 for negatives, whatever the model learns. Nothing crashes.

    ## Usual causes
    `nn.Sigmoid` as the last layer together with `BCEWithLogitsLoss`, which expects raw scores; a change from
    `BCELoss` to the other one on one side only.

    ## What to do
    Return raw scores and keep `BCEWithLogitsLoss`, which is also the numerically safe choice.

    ## When it stays silent
    Unless every way to the value is known and ends in a sigmoid (or softmax).
    """

    card: ClassVar[Card] = Card(
        code="PM518", name="sigmoid-into-bce-with-logits", family="loss-definition", severity=Severity.ERROR
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"BCEWithLogitsLoss", b"cross_entropy_with_logits")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        outputs = Outputs(source, project)
        for call in losses(source, _FUNCTIONS, _LAYERS):
            scores = argument(call, "input", 0)
            if scores is not None and (kind := outputs.ending(scores)):
                yield self.report(
                    source,
                    call,
                    f"`{source.text(scores)}` has gone through {kind}, and this loss applies a sigmoid again",
                    remedy=f"Give it the raw scores: leave the {kind} out of what the loss sees.",
                )
