"""The statements of a script, as far as values go: what each one uses, writes and computes, and what stands there in a frame."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any, NamedTuple

UNKNOWN: Any = object()  # a value that cannot be had without running the user's code


class Statement(NamedTuple):
    line: int
    uses: tuple[tuple[str, ...], ...]  # `self.power` as ("self", "power")
    writes: tuple[tuple[str, ...], ...]
    value: ast.expr | None  # what is computed; None where it cannot be computed again
    returns: bool


def statements(tree: ast.AST) -> Iterator[tuple[int, Statement]]:
    """By each of their lines; of loops, by the line that gives the next value."""
    for node in ast.walk(tree):
        found = described(node)
        if found is not None:
            whole, statement = found
            for line in range(whole.lineno, (whole.end_lineno or whole.lineno) + 1):
                yield line, statement


def described(node: ast.AST) -> tuple[ast.expr | ast.stmt, Statement] | None:
    match node:
        case ast.Assign(targets=targets, value=value):
            return node, _statement(node, value, targets)
        case ast.AugAssign(target=target, op=op, value=value):
            left = ast.copy_location(_loaded(target), target)
            whole = ast.copy_location(ast.BinOp(left, op, value), node)
            return node, _statement(node, whole, [target])
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return node, _statement(node, value, [target])
        case ast.Return(value=ast.expr() as value):
            return node, _statement(node, value, [])._replace(returns=True)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner), args=args) as value):  # rows.append(x)
            given = ast.copy_location(ast.Tuple(args, ast.Load()), value)
            return node, _statement(node, value, [owner])._replace(value=given)
        case ast.For(target=target, iter=source):
            return source, _statement(node, source, [target])._replace(value=None)
    return None


def _loaded(target: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(target), mode="eval").body


def _statement(node: ast.stmt, value: ast.expr, targets: Iterable[ast.expr]) -> Statement:
    return Statement(
        line=node.lineno,
        uses=tuple(dict.fromkeys(chains(value))),
        writes=tuple(dict.fromkeys(chain for target in targets for chain in written(target))),
        value=value,
        returns=False,
    )


def chains(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """The variables and attributes that an expression uses: `self.power[index]` gives `self.power` and `index`."""
    chain = chain_of(node)
    if chain is not None:
        yield chain
        return
    for child in ast.iter_child_nodes(node):
        yield from chains(child)


def chain_of(node: ast.AST) -> tuple[str, ...] | None:
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        owner = chain_of(node.value)
        return (*owner, node.attr) if owner is not None else None
    return None


def written(target: ast.expr) -> Iterator[tuple[str, ...]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        for each in target.elts:
            yield from written(each)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from written(target.value)
    elif (chain := chain_of(target)) is not None:
        yield chain


def resolved(chain: tuple[str, ...], frame: FrameType) -> Any:
    """Without running anybody's code: attributes only where they are plainly stored."""
    own, shared = frame.f_locals, frame.f_globals
    value = own[chain[0]] if chain[0] in own else shared.get(chain[0], UNKNOWN)
    for name in chain[1:]:
        value = getattr(value, "__dict__", {}).get(name, UNKNOWN) if value is not UNKNOWN else value
    return UNKNOWN if isinstance(value, ModuleType) else value
