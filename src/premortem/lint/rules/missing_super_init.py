import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.source import LIGHTNING_MODULES
from premortem.lint.tree import Function, last_name, receiver

_REGISTERS = frozenset("register_buffer register_parameter add_module register_module".split())
_MODULES = LIGHTNING_MODULES | {"torch.nn.Module"}


class MissingSuperInit(Rule):
    """A module assigns layers before `super().__init__()` has been called, or never calls it.

    ## Why it matters
    `nn.Module` keeps its layers in tables that `__init__` creates. The first layer that is assigned before that
    raises "cannot assign module before Module.__init__() call" when the model is built.

    ## Usual causes
    The line is missing, or stands after the layers.

    ## What to do
    Make `super().__init__()` the first line of `__init__`.
    """

    card = Card("PM515", "missing-super-init", "optimizer-ownership", Severity.ERROR)
    triggers = (b"__init__",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if b"torch" not in source.data and b"lightning" not in source.data:
            return
        for owner in source.classes:
            if len(owner.bases) != 1 or owner.keywords or not source.names.all_in(owner.bases[0], _MODULES):
                continue
            for method in owner.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    yield from self._in(source, method)

    def _in(self, source: Source, method: Function) -> Iterator[Diagnostic]:
        if not method.args.args:
            return
        opening = [one for one in method.body[:2] if not _is_docstring(one)]
        if opening and _is_init(opening[0]):
            return  # as nearly always: nothing more to look at
        me = method.args.args[0].arg
        nodes = source.within(method, nested=False)
        if any(isinstance(node, ast.Attribute) and node.attr in {"__dict__", "__class__"} for node in nodes):
            return
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        # A method of its own, or anything it is handed to, can do what is missing.
        ready = [call for call in calls if last_name(call) == "__init__" or _may_initialise(call, me)]
        first = next((node for node in nodes if _registers(source, node, me)), None)
        if first is None:
            return
        flow = source.flow(method)
        if flow.reaches(method, first, avoiding=ready):
            late = any(last_name(call) == "__init__" for call in ready)
            yield self.report(
                source,
                first,
                "a layer is assigned before `super().__init__()`"
                + (" is called" if late else ", which is missing"),
                remedy="Make `super().__init__()` the first line of `__init__`.",
            )


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_init(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and last_name(statement.value) == "__init__"
    )


def _may_initialise(call: ast.Call, me: str) -> bool:
    inner = receiver(call)
    if isinstance(inner, ast.Name) and inner.id == me:
        return last_name(call) not in _REGISTERS
    return any(isinstance(one, ast.Name) and one.id == me for one in call.args)


def _registers(source: Source, node: ast.AST, me: str) -> bool:
    if isinstance(node, ast.Call):
        inner = receiver(node)
        return last_name(node) in _REGISTERS and isinstance(inner, ast.Name) and inner.id == me
    if not isinstance(node, ast.Assign):
        return False
    mine = any(
        isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name) and one.value.id == me
        for one in node.targets
    )
    if not mine or not isinstance(node.value, ast.Call):
        return False
    return source.kinds.of_value(node.value) == "module" or source.names.all_in(
        node.value.func, {"torch.nn.Parameter"}
    )
