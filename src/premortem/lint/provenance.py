"""Where a value is made: through names, attributes of self, parameters and what functions of this file return.

`flow` answers this within one function. Here a value is followed over function borders of one file, and any way that
cannot be followed makes the answer "not known": rules report only what is known on all ways.
"""

import ast
from collections.abc import Iterator

from premortem.lint.flow import Definition
from premortem.lint.source import Source, once_per_file
from premortem.lint.tree import FUNCTIONS, Assignment, Function, dotted, given, grouped, last_name, receiver

DEPTH = 8


def functions_called(source: Source, call: ast.Call) -> list[Function]:
    """The functions of this file that a call can mean."""
    owner = receiver(call)
    if owner is not None and dotted(owner) not in {"self", "cls"}:
        return []
    return _functions_by_name(source).get(last_name(call), [])


@once_per_file
def _functions_by_name(source: Source) -> dict[str, list[Function]]:
    return grouped(source.functions, lambda one: one.name)


def callers(source: Source, function: Function) -> list[ast.Call]:
    """The calls in this file that can mean this function."""
    return [call for call in source.calls_to(function.name) if function in functions_called(source, call)]


def values(source: Source, expr: ast.expr, depth: int = DEPTH) -> list[ast.expr] | None:
    """The expressions a value is made by; None when some way it can come is not known."""
    if depth == 0:
        return None
    if isinstance(expr, ast.Call) and (function := source.callee(expr)):
        return _all(source, _returned(source, function, None), depth)
    if name := dotted(expr):
        return _all(source, _bound(source, expr, name), depth)
    return [expr]


def _all(source: Source, ways: Iterator[ast.expr | None], depth: int) -> list[ast.expr] | None:
    found: list[ast.expr] = []
    for value in ways:
        further = values(source, value, depth - 1) if value is not None else None
        if further is None:
            return None
        found += further
    return found or None


def _bound(source: Source, expr: ast.expr, name: str) -> Iterator[ast.expr | None]:
    scope = source.scope(expr)
    if isinstance(expr, ast.Attribute):
        around = source.class_of(expr)
        for statement in source.assignments.get(name, ()):
            if source.class_of(statement) is around:
                yield from _assigned(source, statement, name)
        return
    definitions = source.flow(scope).definitions(expr)
    for one in definitions:
        if one.how == "parameter" and isinstance(scope, FUNCTIONS):
            yield from _handed(source, scope, one)
        elif one.how in {"assign", "unpack"} and isinstance(one.statement, ast.Assign):
            yield from _assigned(source, one.statement, name)
        elif one.how == "assign":
            yield one.value
        else:
            yield None
    if not definitions:
        for statement in source.assignments.get(name, ()):
            if source.scope(statement) is source.tree:
                yield from _assigned(source, statement, name)


def _handed(source: Source, function: Function, parameter: Definition) -> Iterator[ast.expr | None]:
    calls = callers(source, function)
    if not calls:
        yield None
    for call in calls:
        open_ended = any(keyword.arg is None for keyword in call.keywords)
        yield given(call, function, parameter.name) or (None if open_ended else parameter.value)


def _assigned(source: Source, statement: Assignment, name: str) -> Iterator[ast.expr | None]:
    """What a statement assigns to this name, parts of tuples included."""
    if isinstance(statement, ast.AugAssign) or statement.value is None:
        yield None
        return
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    for target in targets:
        if dotted(target) == name:
            yield statement.value
        elif isinstance(target, (ast.Tuple, ast.List)):
            names = [dotted(part) for part in target.elts]
            if name in names:
                yield from _part(source, statement.value, names.index(name), len(names))


def _part(source: Source, value: ast.expr, place: int, size: int) -> Iterator[ast.expr | None]:
    if isinstance(value, (ast.Tuple, ast.List)):
        whole = len(value.elts) == size and not any(isinstance(one, ast.Starred) for one in value.elts)
        yield value.elts[place] if whole else None
    elif isinstance(value, ast.Call) and (function := source.callee(value)):
        yield from _returned(source, function, (place, size))
    else:
        yield None


def _returned(source: Source, function: Function, part: tuple[int, int] | None) -> Iterator[ast.expr | None]:
    returns = source.returns(function)
    if not returns or isinstance(function, ast.AsyncFunctionDef):
        yield None
    for statement in returns:
        if statement.value is None:
            yield None
        elif part is not None:
            yield from _part(source, statement.value, *part)
        else:
            yield statement.value
