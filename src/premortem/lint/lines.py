"""Edits of whole lines: a statement put in, or moved to another place."""

from __future__ import annotations

import ast

from premortem.lint.diagnostics import Edit, Fix
from premortem.lint.source import Source


def put_before(source: Source, statement: ast.stmt, text: str) -> Fix | None:
    """A line in front of a statement; None where the statement does not begin its line."""
    indent = _indent(source, statement)
    if indent is None or source.cells:
        return None
    start, _end = source.range(statement)
    return Fix((Edit(start, start, f"{text}{_newline(source)}{indent}"),), safe=False)


def move_behind(source: Source, statement: ast.stmt, other: ast.stmt) -> Fix | None:
    """A statement behind another one, indented as that is; None where it is not alone on its line, or alone in its block."""
    indent, place = _indent(source, statement), _indent(source, other)
    if indent is None or place is None or source.cells or _is_alone(source, statement):
        return None
    start, end = source.range(statement)
    line_end, other_end = source.data.find(b"\n", end), source.data.find(b"\n", source.range(other)[1])
    rest = source.data[end:line_end].strip()
    if line_end < 0 or "\n" in source.text(statement) or (rest and not rest.startswith(b"#")):
        return None
    text = source.data[start:line_end].decode().rstrip()  # with its comment
    # Where the file ends without a newline, the text of the other statement ends it.
    behind = other_end if other_end >= 0 else len(source.data)
    taken = Edit(start - len(indent.encode()), line_end + 1, "")
    put = Edit(behind, behind, f"{_newline(source)}{place}{text}")
    if taken.end > behind > taken.start:  # it is the last line of what it is moved behind
        put = Edit(taken.end, taken.end, f"{place}{text}{_newline(source)}")
    return Fix((taken, put), safe=False)


def _newline(source: Source) -> str:
    return "\r\n" if b"\r\n" in source.data[:1000] else "\n"


def _indent(source: Source, statement: ast.stmt) -> str | None:
    before = source.data[: source.range(statement)[0]].rpartition(b"\n")[2].decode()
    return before if not before.strip() else None


def _is_alone(source: Source, statement: ast.stmt) -> bool:
    around = source.parent(statement)
    blocks = [getattr(around, name, None) for name in ("body", "orelse", "finalbody")]
    return any(isinstance(block, list) and block == [statement] for block in blocks)
