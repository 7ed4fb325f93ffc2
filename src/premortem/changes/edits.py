"""Edits of the user's source that make a change permanent: lint's, so that they are applied and shown as lint's are.

Each is made at all places of the file that it fits, and only where names surely mean what they seem to.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from functools import partial

from premortem.lint.diagnostics import Edit, Fix
from premortem.lint.source import Source
from premortem.lint.tree import argument, constant

OPTIMIZERS = tuple("Adadelta Adagrad Adam AdamW Adamax ASGD NAdam RAdam RMSprop Rprop SGD".split())
_HOMES = (
    "torch.optim.",
    "torch.nn.utils.",
    "torch.nn.utils.clip_grad.",
    "torch.",
    "torch.amp.",
    "torch.cuda.amp.",
)


def _calls(source: Source, names: Collection[str]) -> list[ast.Call]:
    """Calls of these functions of torch's, under whatever name they were imported."""
    meant = {home + name for home in _HOMES for name in names}
    return [call for call in source.nodes(ast.Call) if source.names.all_in(call.func, meant)]


def _fix(edits: list[Edit]) -> Fix | None:
    return Fix(tuple(edits), safe=False) if edits else None


def argument_edits(
    source: Source, names: Mapping[str, str], position: int | None, new: Callable[[object], str | None]
) -> Fix | None:
    """Another value for an argument of these functions: `names` says what each calls it. `new` is given the number that
    stands there (None for anything else)."""
    edits = []
    for call in _calls(source, names):
        last = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        value = argument(call, names.get(last, next(iter(names.values()))), position)
        text = new(constant(value)) if value is not None else None
        if value is not None and text is not None:
            edits.append(source.replace(value, text))
    return _fix(edits)


def rate_edit(factor: float) -> Callable[[Source], Fix | None]:
    """A multiple of the rate that optimizers are built with. Of a schedule with rates of its own nothing is known here."""

    def scaled(value: object) -> str | None:
        return f"{value * factor:g}" if isinstance(value, (int, float)) else None

    return partial(argument_edits, names=dict.fromkeys(OPTIMIZERS, "lr"), position=1, new=scaled)


def with_keyword(source: Source, names: Collection[str], keyword: str, text: str) -> Fix | None:
    """These calls with `keyword=text`, in the place of what they say about it now."""
    edits = []
    for call in _calls(source, names):
        if any(each.arg is None for each in call.keywords):
            continue
        value = argument(call, keyword)
        everything = [*call.args, *call.keywords]
        if value is not None:
            edits.append(source.replace(value, text))
        elif everything:
            edits.append(source.insert_after(max(everything, key=source.range), f", {keyword}={text}"))
    return _fix(edits)


def without_keyword(source: Source, method: str, keyword: str, position: int) -> Fix | None:
    """Calls of this method without an argument: its default is what is wanted."""
    edits = []
    for call in source.calls_to(method):
        given: list[ast.keyword | ast.expr] = [each for each in call.keywords if each.arg == keyword]
        given += call.args[position : position + 1]
        edits += [source.without_argument(call, each) for each in given]
    return _fix(edits)


def unfreezing(source: Source) -> Fix | None:
    """`p.requires_grad = False` and `module.requires_grad_(False)` with True."""
    edits = [
        source.replace(each.value, "True")
        for each in source.nodes(ast.Assign)
        if isinstance(each.targets[0], ast.Attribute)
        and each.targets[0].attr == "requires_grad"
        and constant(each.value) is False
    ]
    for call in source.calls_to("requires_grad_"):
        value = argument(call, "requires_grad", 0)
        if value is not None and constant(value) is False:
            edits.append(source.replace(value, "True"))
    return _fix(edits)
