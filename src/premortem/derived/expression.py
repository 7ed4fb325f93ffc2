"""Which expression of the line to blame a finding is about, so that it can be marked."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from premortem.findings import Finding

_QUOTED = re.compile("`([^`]+)`")
_OPERATORS: dict[str, type[ast.AST]] = {
    "div": ast.Div,
    "pow": ast.Pow,
    "mul": ast.Mult,
    "add": ast.Add,
    "sub": ast.Sub,
    "matmul": ast.MatMult,
    "mm": ast.MatMult,
    "remainder": ast.Mod,
    "floor_divide": ast.FloorDiv,
}


class Marked(NamedTuple):
    """Columns of one line, from 0, in characters; the last is not included."""

    start: int
    end: int


def marked(finding: Finding, text: str) -> Marked | None:
    """The operation that the evidence names, else what the message quotes: where exactly one expression of the line is that.
    `text` is the whole file."""
    line = finding.where.line
    if not line:
        return None
    nodes = [node for node in _nodes(text) if node.lineno == line == node.end_lineno]
    op = finding.evidence.get("op")
    for word in [*([op] if isinstance(op, str) else []), *_QUOTED.findall(finding.message)]:
        found = _outermost([node for node in nodes if _is(node, word)])
        if len(found) == 1:
            return _columns(found[0], text.split("\n")[line - 1])
    return None


@lru_cache(maxsize=4)
def _nodes(text: str) -> tuple[ast.expr, ...]:
    try:
        return tuple(node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr))
    except (SyntaxError, ValueError):
        return ()  # edited since, or no Python


def _is(node: ast.expr, word: str) -> bool:
    if isinstance(node, ast.BinOp):
        return type(node.op) is _OPERATORS.get(word)
    if isinstance(node, ast.Call):
        return word in set(_names(node))
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return f"{word}.".startswith(f"{ast.unparse(node)}.")  # `model.head` of model.head.weight
    return False


def _names(call: ast.Call) -> Iterator[str]:
    """`torch.log(x)` is log, torch.log, and the text as it stands."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else None
    name = call.func.id if isinstance(call.func, ast.Name) else name
    if name is not None:
        yield name
        yield f"{name}()"
        yield name.rstrip("_")
    called = ast.unparse(call.func)
    yield from (called, f"{called}()", ast.unparse(call))


def _outermost(nodes: list[ast.expr]) -> list[ast.expr]:
    inner = {id(child) for node in nodes for child in ast.walk(node) if child is not node}
    return [node for node in nodes if id(node) not in inner]


def _columns(node: ast.expr, line: str) -> Marked:
    """The parser counts bytes."""
    data = line.encode()
    start, end = (
        len(data[:at].decode(errors="replace")) for at in (node.col_offset, node.end_col_offset or 0)
    )
    return Marked(start, end)
