"""Where a value comes from, further than one function: through attributes of `self` and parameters.

Everything here answers only when all ways to the value are known; one unknown way makes the answer unknown.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from premortem.lint.names import LOCAL
from premortem.lint.tree import FUNCTIONS, MOVES, argument, dotted, last_name, unmoved

if TYPE_CHECKING:
    from premortem.lint.flow import Definition
    from premortem.lint.source import Source
    from premortem.lint.tree import Function

_WRAPPERS = frozenset(
    "torch.compile torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel "
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm copy.deepcopy".split()
)


def from_elsewhere(source: Source, expr: ast.expr) -> frozenset[str]:
    """What an imported name stands for; nothing for a variable of this file, whatever method follows it."""
    return frozenset(name for name in source.names.of(expr) if not name.startswith(LOCAL))


def built_from(source: Source, expr: ast.expr, depth: int = 7) -> tuple[ast.expr, ...]:
    """The expressions that build a module or a criterion held by this name; () when some way is unknown.

    `model = Net().to(device)` gives the call `Net()`; moves and wrappers (DataParallel, compile) are looked through.
    """
    if depth == 0:
        return ()
    if isinstance(expr, ast.Call):
        if isinstance(expr.func, ast.Attribute) and expr.func.attr in MOVES:
            return built_from(source, expr.func.value, depth - 1)
        if source.names.all_in(expr.func, _WRAPPERS) and expr.args:
            return built_from(source, expr.args[0], depth - 1)
        return (expr,)
    name = dotted(expr)
    if not name:
        return ()
    values = _values(source, expr, name)
    found: list[ast.expr] = []
    for value in values:
        ways = built_from(source, value, depth - 1)
        if not ways:
            return ()
        found += ways
    return tuple(dict.fromkeys(found))


def _values(source: Source, expr: ast.expr, name: str) -> list[ast.expr]:
    """What a name is bound to, one step back; [] when that is not known."""
    here = source.flow(source.scope(expr)).definitions(expr)
    if not here:
        return _from_outside(source, expr, name)
    found: list[ast.expr] = []
    for one in here:
        if one.how == "assign" and one.value is not None and one.value is not expr:
            found.append(one.value)
        elif one.how == "parameter":
            given = _given(source, one)
            if not given:
                return []
            found += given
        else:
            return []
    return found


def _from_outside(source: Source, expr: ast.expr, name: str) -> list[ast.expr]:
    if name.startswith("self."):
        owner = source.class_of(expr)
        statements = [one for one in source.assignments.get(name, ()) if source.class_of(one) is owner]
    elif isinstance(expr, ast.Name):
        statements = [one for one in source.assignments.get(name, ()) if source.scope(one) is source.tree]
    else:
        return []
    found: list[ast.expr] = []
    for statement in statements:
        value = getattr(statement, "value", None)
        plain = isinstance(statement, ast.Assign) and any(dotted(one) == name for one in statement.targets)
        if not plain or value is None:
            return []
        # `self.model = self.model.cuda()`: the other bindings say what it is.
        if dotted(unmoved(value)) != name:
            found.append(value)
    return found


def _given(source: Source, parameter: Definition) -> list[ast.expr]:
    """What the callers in this file give for a parameter; [] when there are no callers, or one passes a constant."""
    function = parameter.statement
    if not isinstance(function, FUNCTIONS):
        return []
    plain = [*function.args.posonlyargs, *function.args.args]
    position = next((place for place, one in enumerate(plain) if one.arg == parameter.name), None)
    calls, bound = _callers(source, function)
    if position is not None and bound:
        position -= 1
    found: list[ast.expr] = []
    for call in calls:
        value = argument(call, parameter.name, position)
        if value is None or isinstance(value, ast.Constant):
            return []
        found.append(value)
    return found


def _callers(source: Source, function: Function) -> tuple[list[ast.Call], bool]:
    """The calls of a function in its file; whether its first parameter is bound by the call (`self`)."""
    owner = source.parent(function)
    if not isinstance(owner, ast.ClassDef):
        calls = [call for call in source.calls.get(function.name, ()) if isinstance(call.func, ast.Name)]
        return calls, False
    if function.name == "__init__":
        return [call for call in source.calls.get(owner.name, ()) if last_name(call) == owner.name], True
    same = [one for one in source.functions if one.name == function.name]
    if len(same) > 1 or function.decorator_list:
        return [], True
    return [
        call for call in source.calls.get(function.name, ()) if isinstance(call.func, ast.Attribute)
    ], True
