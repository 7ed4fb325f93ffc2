import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Edit, Facts, Fix, Rule, Severity, Source
from premortem.lint.tree import last_name

# Losses of torch.nn whose first two parameters are options, never predictions and targets.
_CLASSES = frozenset(
    "CrossEntropyLoss MSELoss BCELoss BCEWithLogitsLoss L1Loss SmoothL1Loss NLLLoss KLDivLoss HuberLoss".split()
)
_TARGET = pattern(
    r"^(?:y|t|gt|gts|target|targets|label|labels|truth|ground_truth|real|batch_y|y_\w+|\w+_(?:target|targets|label|"
    r"labels|gt|true|y))$"
)
_OPTION = pattern(r"weight|reduc|average|margin|beta|delta")


class LossClassGivenTensors(Rule):
    """`nn.MSELoss(output, target)`: the class is built with the tensors as its options instead of being called.

    ## Why it matters
    `nn.MSELoss` makes a loss; the loss is then called with predictions and targets. Given to the class, tensors are
    taken for `weight`, `size_average` or `reduce`: it raises "Boolean value of Tensor is ambiguous", or gives back
    an object that has no `backward`.

    ## Usual causes
    The function `F.mse_loss(output, target)` and the class have nearly the same name.

    ## What to do
    Write `nn.MSELoss()(output, target)` or `F.mse_loss(output, target)`.

    ## When it stays silent
    When an argument can be an option: a number, True or False, something named weight or reduction.
    """

    card = Card("PM523", "loss-class-given-tensors", "loss-definition", Severity.ERROR)
    needs = (b"Loss(",)
    triggers = tuple(sorted(f"{name}(".encode() for name in _CLASSES))

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to(*sorted(_CLASSES)):
            if not source.names.all_in(call.func, {f"torch.nn.{name}" for name in _CLASSES}):
                continue
            if len(call.args) == 2 and not call.keywords and _are_tensors(*call.args):
                _start, end = source.range(call.func)
                opening = source.data.find(b"(", end) + 1
                yield self.report(
                    source,
                    call,
                    f"`{last_name(call)}` is a class: here the tensors become its options, and no loss is computed",
                    remedy=f"Write `{source.text(call.func)}()(...)`.",
                    fix=Fix((Edit(opening, opening, ")("),)),
                )


def _are_tensors(prediction: ast.expr, target: ast.expr) -> bool:
    """Options are constants or have telling names; a target has one too."""
    for one in (prediction, target):
        if isinstance(one, (ast.Constant, ast.Starred)) or _OPTION.search(last_name(one)):
            return False
    return _TARGET.match(last_name(target)) is not None
