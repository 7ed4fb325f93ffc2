from collections.abc import Iterator
from typing import ClassVar

from premortem.lint.outputs import Outputs, losses
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument


class AppliedTwice(Rule):
    """The base of rules about a loss that applies softmax or a sigmoid to values that went through one already."""

    functions: ClassVar[frozenset[str]]
    layers: ClassVar[frozenset[str]]
    applies: ClassVar[str]  # what the loss does, as the end of a sentence

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        outputs = Outputs(source, project)
        for call in losses(source, self.functions, self.layers):
            scores = argument(call, "input", 0)
            if scores is not None and (kind := outputs.ending(scores)):
                yield self.report(
                    source,
                    call,
                    f"`{source.text(scores)}` has gone through {kind}, and {self.applies}",
                    remedy=f"Pass the raw scores to the loss: leave the {kind} out.",
                )


class SoftmaxIntoCrossEntropy(AppliedTwice):
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

    card = Card("PM517", "softmax-into-cross-entropy", "loss-definition", Severity.ERROR)
    triggers = (b"CrossEntropyLoss", b"cross_entropy")
    functions = frozenset(("torch.nn.functional.cross_entropy",))
    layers = frozenset(("torch.nn.CrossEntropyLoss",))
    applies = "cross-entropy applies softmax again"
