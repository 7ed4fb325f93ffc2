"""Places and edits of a parsed file: from nodes to bytes, lines, columns and cells."""

import ast
import bisect
import re
from collections.abc import Sequence
from typing import NamedTuple

from premortem.lint.diagnostics import Edit, Span
from premortem.lint.text import Lines


class Cell(NamedTuple):
    """A code cell of a notebook: where it begins in the joined source."""

    number: int  # counted from 1 among all cells, as editors count them
    first_line: int


class Placed(Lines):
    """A text whose nodes have places; a notebook's cells are joined, and places are given by cell."""

    def __init__(self, data: bytes, cells: Sequence[Cell] = ()) -> None:
        super().__init__(data)
        self.cells = tuple(cells)

    def range(self, node: ast.AST) -> tuple[int, int]:
        """The bytes this node covers."""
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return start, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        """What the file says at this node, as it is written."""
        start, end = self.range(node)
        return self.data[start:end].decode()

    def span(self, node: ast.AST) -> Span:
        """The place of a node, for people: from 1, columns in characters."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        column = self.column(line, getattr(node, "col_offset", 0))
        end_column = self.column(end_line, getattr(node, "end_col_offset", None) or 0)
        cell, first = self.cell_at(line)
        return cell, line - first, column, end_line - first, end_column

    def cell_at(self, line: int) -> tuple[int | None, int]:
        """The cell a line of the joined source is in, and how many lines precede that cell."""
        if not self.cells:
            return None, 0
        place = bisect.bisect_right([cell.first_line for cell in self.cells], line) - 1
        cell = self.cells[max(place, 0)]
        return cell.number, cell.first_line - 1

    def lines_before(self, cell: int | None) -> int:
        """How many lines of the joined source precede a cell; 0 outside notebooks."""
        return next((one.first_line - 1 for one in self.cells if one.number == cell), 0)

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self.range(node), text)

    def insert_before(self, node: ast.AST, text: str) -> Edit:
        start, _end = self.range(node)
        return Edit(start, start, text)

    def insert_after(self, node: ast.AST, text: str) -> Edit:
        _start, end = self.range(node)
        return Edit(end, end, text)

    def without_argument(self, call: ast.Call, argument: ast.keyword | ast.expr) -> Edit:
        """Removes one argument of a call with its comma."""
        everything = sorted((*call.args, *call.keywords), key=self.range)
        place = next(index for index, one in enumerate(everything) if one is argument)
        start, end = self.range(argument)
        if place + 1 < len(everything):
            return Edit(start, self.range(everything[place + 1])[0], "")
        if place:
            before = self.range(everything[place - 1])[1]
            comma = re.compile(rb"(?:#[^\n]*|[^,#])*").match(self.data, before, start)
            return Edit(comma.end() if comma else before, end, "")
        after = re.compile(rb"\s*,").match(self.data, end)
        return Edit(start, after.end() if after else end, "")
