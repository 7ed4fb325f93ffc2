"""What a loop leaves out when it fails: samples of a mean, or of the data that is put together from a list."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from premortem.lint.handlers import computes, is_logging
from premortem.lint.measured import is_averaged, takes_apart
from premortem.lint.source import once_per_file
from premortem.lint.training import is_test, names_in
from premortem.lint.tree import dotted, is_broad, last_name, own_method, parts, receiver

if TYPE_CHECKING:
    from premortem.lint.source import Source

MEAN, DATA = "mean", "data"
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
        if any(is_averaged(source, scope, one) for one in lists) or any(
            _is_divided(source, scope, one, counted) for one in totals
        ):
            found.append((quiet[0], MEAN))
        elif is_quiet(quiet[0], logs=False) and any(_becomes_data(source, block, one) for one in lists):
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
            elif isinstance(node, ast.Call) and last_name(node) == "append" and len(node.args) == 1:
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


def _becomes_data(source: Source, block: ast.Try, held: str) -> bool:
    """Whether one array or table is made of a list, or a dataset gives its items as samples."""
    owner = source.class_of(block)
    if held.startswith("self.") and owner is not None:
        reads = own_method(owner, "__getitem__")
        return reads is not None and any(dotted(node) == held for node in source.within(reads))
    return any(
        isinstance(node, ast.Call)
        and bool(node.args)
        and dotted(node.args[0]) == held
        and source.names.all_in(node.func, _STACKS)
        for node in source.within(source.scope(block))
    )
