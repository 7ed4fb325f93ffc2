"""PM514 requires-grad-on-module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Fix
from premortem.lint.facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, constant, dotted, last_name

_ITERATES = frozenset("children modules named_children named_modules".split())
# Only modules have these.
_MODULE_METHODS = frozenset(
    "parameters named_parameters state_dict load_state_dict children modules named_modules named_children "
    "eval train zero_grad".split()
)


class RequiresGradOnModule(Rule):
    """`module.requires_grad = False`: a module has no such switch, so nothing is frozen.

    ## Why it matters
    The line sets an attribute that nobody reads. Every parameter of the module keeps its gradient and goes on
    training (or stays frozen, when `True` was meant to thaw it).

    ## Usual causes
    The underscore is missing: tensors have the attribute `requires_grad`, modules the method `requires_grad_`.

    ## What to do
    Write `module.requires_grad_(False)`.

    ## When it stays silent
    Unless the code shows that it is a module: it is built as one, it comes from `children()` or `modules()`, or its
    parameters are asked for.
    """

    card: ClassVar[Card] = Card(
        code="PM514", name="requires-grad-on-module", family="grad-flow", severity=Severity.ERROR
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b".requires_grad =",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if any(name.endswith(".requires_grad") for name in _declared(source)):
            return
        for statement in source.nodes(ast.Assign):
            target = statement.targets[0]
            if len(statement.targets) > 1 or not isinstance(target, ast.Attribute):
                continue
            if target.attr != "requires_grad" or not dotted(target.value) or dotted(target.value) == "self":
                continue
            if self._is_module(source, target.value):
                text = source.text(target.value)
                value = source.text(statement.value)
                yield self.report(
                    source,
                    target,
                    f"`{text}` is a module: setting `requires_grad` on it changes none of its parameters",
                    remedy=f"Write `{text}.requires_grad_({value})`.",
                    fix=Fix((source.replace(statement, f"{text}.requires_grad_({value})"),), safe=False)
                    if isinstance(constant(statement.value), bool)
                    else None,
                )

    @staticmethod
    def _is_module(source: Source, target: ast.expr) -> bool:
        name = dotted(target)
        scope = source.scope(target)
        if isinstance(target, ast.Name):
            found = source.flow(scope).definitions(target)
            kinds = {_kind(source, one.how, one.value, name) for one in found}
            if kinds == {"module"}:
                return True
            if "" not in kinds and kinds:
                return False
            if any(one.how in {"for", "unpack", "with"} for one in found):
                return False
        elif source.kinds.of(name):
            return source.kinds.surely(name, "module")
        return any(
            isinstance(node, ast.Attribute)
            and node.attr in _MODULE_METHODS
            and dotted(node.value) == name
            and isinstance(source.parent(node), ast.Call)
            for node in source.within(scope)
        )


def _declared(source: Source) -> list[str]:
    """`self.requires_grad`, where a class of this file has its own."""
    return [name for name in source.assignments if name == "self.requires_grad"]


def _kind(source: Source, how: str, value: ast.expr | None, name: str) -> str:
    if how == "for" and isinstance(value, ast.Call):
        iterated = value.args[0] if last_name(value) == "enumerate" and value.args else value
        return "module" if last_name(iterated) in _ITERATES and isinstance(iterated, ast.Call) else "other"
    if how == "assign" and value is not None:
        if source.kinds.of_value(value) == "module":
            return "module"
        if isinstance(value, ast.Call) and any(
            one.startswith("torchvision.models.") for one in source.names.of(value.func)
        ):
            return "module"
    return ""
