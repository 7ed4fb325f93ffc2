import ast
from collections.abc import Callable, Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.tree import constant, dotted, last_name, receiver

_ITERATES = frozenset("children modules named_children named_modules".split())
# Only modules have these.
_MODULE_METHODS = frozenset(
    "parameters named_parameters state_dict load_state_dict children modules named_modules named_children "
    "eval train zero_grad".split()
)


class RequiresGradOnModule(Rule):
    """`module.requires_grad = False`: a module has no such switch, so nothing is frozen.

    ## Why it matters
    The line sets an attribute that torch does not read. Every parameter of the module keeps its gradient and goes on
    training (or stays frozen, when `True` was meant to thaw it).

    ## Usual causes
    The underscore is missing: tensors have the attribute `requires_grad`, modules the method `requires_grad_`.

    ## What to do
    Write `module.requires_grad_(False)`.

    ## When it stays silent
    Unless the code shows that it is a module: it is built as one, it comes from `children()` or `modules()`, or its
    parameters are asked for.
    """

    card = Card("PM514", "requires-grad-on-module", "grad-flow", Severity.ERROR)
    needs = (b"requires_grad", b".requires_grad =")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if any(name.endswith(".requires_grad") for name in _declared(source)):
            return
        for statement in source.nodes(ast.Assign):
            target = statement.targets[0]
            if len(statement.targets) > 1 or not isinstance(target, ast.Attribute):
                continue
            if target.attr != "requires_grad" or not dotted(target.value) or dotted(target.value) == "self":
                continue
            if self._is_module(source, target.value) and not _done_properly(source, target.value):
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
            _tested(source, node, name, lambda kind: kind.startswith("torch.nn.") and "Param" not in kind)
            or (
                isinstance(node, ast.Attribute)
                and node.attr in _MODULE_METHODS
                and dotted(node.value) == name
                and isinstance(source.parent(node), ast.Call)
            )
            for node in source.within(scope)
        )


def _done_properly(source: Source, target: ast.expr) -> bool:
    """Whether the parameters are set as well (then the line is only of no use), or it can be a tensor after all."""
    name = dotted(target)
    for node in source.within(source.scope(target)):
        if isinstance(node, ast.Call):
            if last_name(node) == "is_tensor" and node.args and dotted(node.args[0]) == name:
                return True
            if _tested(source, node, name, lambda kind: not kind.startswith("torch.nn.") or "Param" in kind):
                return True
            if last_name(node) == "requires_grad_" and dotted(receiver(node)) == name:
                return True
        elif isinstance(node, (ast.For, ast.AsyncFor)) and isinstance(node.iter, ast.Call):
            if (
                last_name(node.iter) in {"parameters", "named_parameters"}
                and dotted(receiver(node.iter)) == name
            ):
                if any(
                    isinstance(one, ast.Attribute) and one.attr == "requires_grad"
                    for one in source.within(node)
                ):
                    return True
    return False


def _tested(source: Source, node: ast.AST, name: str, wanted: Callable[[str], bool]) -> bool:
    """`isinstance(name, kind)` with a kind for which `wanted` holds."""
    if not (isinstance(node, ast.Call) and last_name(node) == "isinstance" and len(node.args) == 2):
        return False
    kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    return dotted(node.args[0]) == name and any(
        wanted(one) for kind in kinds for one in source.names.of(kind)
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
