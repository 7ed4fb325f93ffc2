import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.provenance import values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.plateau_without_metric import PLATEAU
from premortem.lint.training import is_test
from premortem.lint.tree import argument, constant, dotted, last_name, receiver

BETTER_HIGH = pattern(
    r"(?:^|_)(?:acc|accuracy|f1|auc|auroc|miou|iou|dice|psnr|ssim|precision|recall)\d*(?:_|$)"
)
BETTER_LOW = pattern(r"(?:^|_)(?:loss|losses|mse|mae|rmse|nll|perplexity|ppl|error|err)\d*(?:_|$)")


class PlateauWatchesTheWrongWay(Rule):
    """`ReduceLROnPlateau` waits for a metric to fall and is given one that should rise, or the other way round.

    ## Why it matters
    With `mode="min"` (the default) every gain in accuracy counts as a bad epoch. The learning rate falls while the
    model is improving, and training stalls early.

    ## Usual causes
    - the metric was changed from the loss to an accuracy, the mode was not

    ## What to do
    `ReduceLROnPlateau(optimizer, mode="max")` for accuracy, F1, IoU, PSNR; `mode="min"` for losses and errors.

    ## When it stays silent
    When the mode is not a literal, the metric's name says nothing, or the value is negated.
    """

    card = Card("PM551", "plateau-watches-the-wrong-way", "scheduler", Severity.ERROR)
    triggers = (b"ReduceLROnPlateau",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("step"):
            owner = receiver(call)
            given = argument(call, "metrics", 0)
            if owner is None or given is None or is_test(source, call):
                continue
            metric = _name(given)
            high, low = bool(BETTER_HIGH.search(metric)), bool(BETTER_LOW.search(metric))
            if high == low:
                continue
            built = values(source, owner)
            if not built or not all(isinstance(one, ast.Call) for one in built):
                continue
            modes = {_mode(source, one) for one in built if isinstance(one, ast.Call)}
            if modes == {"min" if high else "max"}:
                yield self.report(
                    source,
                    call,
                    f"`{source.text(owner)}` waits for its metric to {'fall' if high else 'rise'}, but "
                    f"`{source.text(given)}` is better when it is {'higher' if high else 'lower'}",
                    remedy=f'Build the scheduler with mode="{"max" if high else "min"}".',
                )


def _name(expr: ast.expr) -> str:
    """`val_acc` of `val_acc`, `metrics["val_acc"]`, `val_acc.item()`; "" for anything else."""
    while isinstance(expr, ast.Call) and last_name(expr) in {"item", "detach", "cpu", "mean"}:
        inner = receiver(expr)
        if inner is None:
            return ""
        expr = inner
    if isinstance(expr, ast.Subscript):
        key = constant(expr.slice)
        return key.lower() if isinstance(key, str) else ""
    return dotted(expr).rpartition(".")[2].lower()


def _mode(source: Source, made: ast.Call) -> str:
    """The mode of a ReduceLROnPlateau; "" when it is not known or it is something else."""
    if not source.names.all_in(made.func, PLATEAU) or any(one.arg is None for one in made.keywords):
        return ""
    mode = argument(made, "mode", 1)
    value = "min" if mode is None else constant(mode)
    return value if isinstance(value, str) else ""
