"""PM517 softmax-into-cross-entropy."""

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

_FUNCTIONS = frozenset(("torch.nn.functional.cross_entropy",))
_LAYERS = frozenset(("torch.nn.CrossEntropyLoss",))


class SoftmaxIntoCrossEntropy(Rule):
    """The model already returns probabilities, and cross-entropy applies softmax to them once more.

    ## Why it matters
    Probabilities differ by 1 at most, so the second softmax never gets sure of anything: the loss cannot fall below
    1.46 for ten classes, gradients are flat, and the model learns slowly or stops half-way. Nothing crashes.

    ## Usual causes
    `nn.Softmax` as the last layer, or `F.softmax` at the end of `forward`, together with `nn.CrossEntropyLoss`, which
    expects raw scores.

    ## What to do
    Return raw scores, and apply softmax only where probabilities are shown.

    ## When it stays silent
    Unless every way to the value is known and ends in softmax (or sigmoid). `log_softmax` changes nothing and is not
    reported; nor is softmax for the targets, for accuracy, or inside the model.
    """

    card: ClassVar[Card] = Card(
        code="PM517", name="softmax-into-cross-entropy", family="loss-definition", severity=Severity.ERROR
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"CrossEntropyLoss", b"cross_entropy")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        outputs = Outputs(source, project)
        for call in losses(source, _FUNCTIONS, _LAYERS):
            scores = argument(call, "input", 0)
            if scores is not None and (kind := outputs.ending(scores)):
                yield self.report(
                    source,
                    call,
                    f"`{source.text(scores)}` has gone through {kind}, and cross-entropy applies softmax again",
                    remedy=f"Give it the raw scores: leave the {kind} out of what the loss sees.",
                )
