"""What a loop leaves out when it fails: samples of a mean, or of the data that is put together from a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from premortem.lint.handlers import computes, is_logging
from premortem.lint.measured import is_averaged, is_of_a_metric, takes_apart
from premortem.lint.provenance import callers
from premortem.lint.source import once_per_file
from premortem.lint.training import is_test, names_in
from premortem.lint.tree import FUNCTIONS, dotted, is_broad, last_name, own_method, parts, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source

MEAN, DATA = "mean", "data"
HOPS = 3  # from one list to another, and from a function to its callers
# What makes one array, tensor or table of a list.
_STACKS = frozenset(
    f"{package}.{name}"
    for package, names in {
        "numpy": "array asarray stack vstack hstack dstack concatenate",
        "torch": "stack cat concat concatenate vstack hstack tensor as_tensor",
        "pandas": "concat DataFrame",
    }.items()
    for name in names.split()
)


def is_quiet(handler: ast.ExceptHandler, *, logs: bool) -> bool:
    """Whether it does nothing but go on; `logs`: it may print a line, and still counts nothing."""
    return all(
        isinstance(one, (ast.Pass, ast.Continue))
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        or (logs and isinstance(one, ast.Expr) and is_logging(one.value))
        for one in handler.body
    )


@once_per_file
def left_out(source: Source) -> list[tuple[ast.ExceptHandler, str]]:
    """Handlers that pass over what fails in a loop, with what the others become: a mean, or data.

    Whoever prints a line tells of samples that are missing in the data; a mean looks the same without them.
    """
    found = []
    for block in source.tries:
        loop = next(iter(source.loops_around(block)), None)
        quiet = [one for one in block.handlers if is_broad(one) and is_quiet(one, logs=True)]
        if not quiet or not isinstance(loop, ast.For) or is_test(source, block) or takes_apart(source, block):
            continue
        lists, totals = _kept(source, block, loop, leaves=isinstance(quiet[0].body[-1], ast.Continue))
        scope = source.scope(block)
        counted = {name for name, value in totals.items() if isinstance(value, ast.Constant)}
        becomes = {_becomes(source, scope, one) for one in lists}
        if MEAN in becomes or any(_is_divided(source, scope, one, counted) for one in totals):
            found.append((quiet[0], MEAN))
        elif DATA in becomes and is_quiet(quiet[0], logs=False):
            found.append((quiet[0], DATA))
    return found


def _kept(
    source: Source, block: ast.Try, loop: ast.For, *, leaves: bool
) -> tuple[set[str], dict[str, ast.expr]]:
    """The lists to which a turn of the loop adds what the `try` computes, and the totals with what is added.

    `leaves`: the handler goes on with the next turn, so that what comes after the `try` is left out as well.
    """
    after = loop.body[loop.body.index(block) + 1 :] if leaves and block in loop.body else []
    made: set[str] = set()
    lists: set[str] = set()
    totals: dict[str, ast.expr] = {}
    tried = {
        node for statement in block.body for node in (statement, *source.within(statement, nested=False))
    }
    for statement in (*block.body, *after):
        for node in (statement, *source.within(statement, nested=False)):
            value = getattr(node, "value", None)
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                if isinstance(value, ast.Constant) or _is_made(source, node.value, made, node in tried):
                    totals[dotted(node.target)] = node.value
            elif isinstance(node, ast.Assign) and _is_made(source, node.value, made, node in tried):
                made |= {dotted(part) for target in node.targets for part in parts(target)} - {""}
            elif (
                isinstance(node, ast.Call) and last_name(node) in {"append", "extend"} and len(node.args) == 1
            ):
                if _is_made(source, node.args[0], made, node in tried):
                    lists.add(dotted(receiver(node)))
    return lists - {""}, totals


def _is_made(source: Source, value: ast.expr, made: set[str], tried: bool) -> bool:
    """Whether a value is computed in the `try`, or of what was computed there."""
    return (tried and computes(source, value)) or bool(names_in(source, value) & made)


def _is_divided(source: Source, scope: ast.AST, total: str, counted: set[str]) -> bool:
    """Whether a total is divided by a number that counts only what did not fail."""
    return total not in counted and any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Div)
        and dotted(node.left) == total
        and bool(names_in(source, node.right) & counted)
        for node in source.within(scope)
    )


def _becomes(source: Source, scope: ast.AST, held: str, depth: int = HOPS) -> str:
    """What is made of a list here, or where this function gives it back: a mean, data of a training, or "" for neither."""
    if is_averaged(source, scope, held):
        return MEAN
    if held.startswith("self."):
        owner = source.class_of(scope)
        reads = own_method(owner, "__getitem__") if owner is not None else None
        return DATA if reads is not None and any(dotted(one) == held for one in source.within(reads)) else ""
    longer: list[tuple[ast.AST, str]] = []
    stacked = False
    for node in source.within(scope):
        if isinstance(node, ast.Call) and any(dotted(one) == held for one in node.args):
            if is_of_a_metric(source, node):
                return MEAN
            if source.names.all_in(node.func, _STACKS) and dotted(node.args[0]) == held:
                stacked = True
            elif last_name(node) == "extend":
                longer.append((scope, dotted(receiver(node))))
    found = {_becomes(source, where, name, depth - 1) for where, name in longer if name} if depth else set()
    for where, name in _given_back(source, scope, held) if depth else ():
        found.add(_becomes(source, where, name, depth - 1))
    return MEAN if MEAN in found else DATA if stacked or DATA in found else ""


def _given_back(source: Source, scope: ast.AST, held: str) -> Iterator[tuple[ast.AST, str]]:
    """The names that callers in this file give to a list that a function returns, alone or in a tuple, with their scopes."""
    if not isinstance(scope, FUNCTIONS):
        return
    for returned in source.returns(scope):
        items = returned.value.elts if isinstance(returned.value, ast.Tuple) else [returned.value]
        places = [place for place, one in enumerate(items) if dotted(one) == held]
        for call in callers(source, scope) if places else ():
            above = source.parent(call)
            if isinstance(above, ast.Call) and last_name(above) == "extend":
                yield source.scope(call), dotted(receiver(above))
            for target in above.targets if isinstance(above, ast.Assign) else ():
                names = [dotted(part) for part in parts(target)]
                if len(names) == len(items) and names[places[0]]:
                    yield source.scope(call), names[places[0]]
