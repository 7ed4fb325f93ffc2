"""Which expression of the line to blame a finding is about, so that it can be marked."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from premortem.files.syntax import last_name
from premortem.findings import Finding

_QUOTED = re.compile("`([^`]+)`")
_LIBRARIES = ("torch", "F", "torch.nn.functional", "nn.functional", "torch.linalg", "torch.special")
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
    """The operation that the evidence names, else what the message quotes, else the module: where exactly one expression of
    the line is that. A line with one call, whatever is inside of it, is about that call. `text` is the whole file."""
    node = blamed(finding, text)
    return None if node is None else _columns(node, text.split("\n")[node.lineno - 1])


def blamed(finding: Finding, text: str) -> ast.expr | None:
    """That expression."""
    line = finding.where.line
    if not line:
        return None
    nodes = [node for node in _nodes(text) if node.lineno == line == node.end_lineno]
    op, module = finding.evidence.get("op"), finding.where.module
    words = [*([op] if isinstance(op, str) else []), *_QUOTED.findall(finding.message)]
    if module:  # `classifier` is what stands in `self.classifier(x)`
        words.append(module.rpartition(".")[2])
    for word in words:
        found = _outermost([node for node in nodes if _is(node, word)])
        if len(found) == 1:
            return found[0]
    calls = _outermost([node for node in nodes if isinstance(node, ast.Call)])
    return calls[0] if len(calls) == 1 and not op else None


def values(finding: Finding, text: str) -> str:
    """What the variables of that expression held, as far as it is known: `flat: (8, 3600)`, `n: 0 … 4.11`."""
    node = blamed(finding, text)
    if node is None:
        return ""
    shapes = finding.evidence.get("shapes")
    if isinstance(shapes, dict):
        names = {ast.unparse(each) for each in ast.walk(node) if isinstance(each, (ast.Name, ast.Attribute))}
        return ", ".join(f"{name}: {shape}" for name, shape in shapes.items() if name in names)
    held = [
        f"{ast.unparse(given)}: {_range(operand)}"
        for given, operand in zip(operands(node), finding.evidence.get("operands") or (), strict=False)
        if isinstance(operand, dict) and not isinstance(given, ast.Constant)
    ]
    return ", ".join(held) if finding.evidence.get("op") else ""


def operands(node: ast.expr) -> list[ast.expr]:
    """The operands, in the order in which torch has them."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Call):
        on = node.func.value if isinstance(node.func, ast.Attribute) else None
        library = isinstance(on, (ast.Name, ast.Attribute)) and ast.unparse(on) in _LIBRARIES
        return [*([] if on is None or library else [on]), *node.args]
    return []


def _range(operand: dict[str, Any]) -> str:
    low, high = operand.get("low"), operand.get("high")
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return "?"
    return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"


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
    if name := last_name(call):
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
