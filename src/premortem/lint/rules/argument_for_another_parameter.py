"""PM562 argument-for-another-parameter."""

import ast
from collections.abc import Iterator

from premortem.lint import drift
from premortem.lint.drift import Use
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import constant, last_name

_OPTIMIZERS = "torch.optim."
_OTHERS = ("torch.optim.lr_scheduler.", "torch.optim.swa_utils.")


class ArgumentForAnotherParameter(Rule):
    """A value is handed to one parameter of an optimizer, and has the name of another one.

    ## Why it matters
    `Adam(params, weight_decay)` trains with the weight decay as its learning rate, and without decay. All of these are small
    numbers, so nothing raises: the run is slow, or falls apart.

    ## Usual causes
    A value by position, for a parameter that is not the next one; a keyword that was copied from the line above.

    ## What to do
    Give every value but the first by its keyword: `Adam(params, lr=lr, weight_decay=weight_decay)`.

    ## When it stays silent
    When the value has no name, or one that no parameter has.
    """

    card = Card(
        code="PM562",
        name="argument-for-another-parameter",
        family="config",
        severity=Severity.ERROR,
        explains=("updates-too-small", "updates-too-large", "weight-decay-collapse"),
    )
    triggers = (b"optim",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call, use in drift.calls(source, project):
            if not all(
                one.name.startswith(_OPTIMIZERS) and not one.name.startswith(_OTHERS) for one in use.symbols
            ):
                continue
            places = parameters(use)
            for parameter, value in given(call, places):
                name = called(value)
                if name != parameter and name in places:
                    yield self.report(
                        source,
                        value,
                        f"`{use.name}` gets `{ast.unparse(value)}` as its `{parameter}`",
                        remedy=f"Write `{name}={ast.unparse(value)}`, and give `{parameter}` its own value.",
                    )


def parameters(use: Use) -> list[str]:
    """By their places, where all that the name may stand for agree on them; [] for a release that is not known."""
    newest = use.pin.newest
    if newest is None:
        return []
    known = {tuple(word for word in one.keywords(newest) if word != "self") for one in use.symbols}
    return list(known.pop()) if len(known) == 1 else []


def given(call: ast.Call, places: list[str]) -> Iterator[tuple[str, ast.expr]]:
    for place, value in zip(places, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield place, value
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg in places)


def called(value: ast.expr) -> str:
    """`lr` of `lr`, `args.lr` and `config["lr"]`."""
    if isinstance(value, ast.Subscript):
        key = constant(value.slice)
        return key if isinstance(key, str) else ""
    return last_name(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""
