"""A file as its reports see it: the lines they count, and the place of every byte that a fix would change."""

from __future__ import annotations

from collections.abc import Sequence

from premortem.files import untrusted
from premortem.lint import notebooks
from premortem.lint.parsing import Unreadable, reencoded
from premortem.lint.placed import Cell
from premortem.lint.text import Lines


class Listing(Lines):
    """The text that lines, columns and edits refer to: for a notebook its code cells, joined."""

    def __init__(self, data: bytes, cells: Sequence[Cell] = ()) -> None:
        super().__init__(data)
        self.cells = tuple(cells)

    @classmethod
    def of(cls, path: str, data: bytes) -> Listing:
        """As the engine reads it; what cannot be read is shown as it is."""
        try:
            if path.endswith(".ipynb"):
                source, _broken = notebooks.read(path, data)
                return cls(source.data, source.cells)
            if path.endswith(".py"):
                return cls(reencoded(data)[1])
        except Unreadable:
            pass
        return cls(data)

    @classmethod
    def read(cls, path: str) -> Listing:
        """From the disk; empty when the file is gone."""
        try:
            return cls.of(path, untrusted.read(path))
        except OSError:
            return cls(b"")

    def __len__(self) -> int:
        """How many lines there are; an empty last one does not count."""
        return len(self._line_starts) - (self._line_starts[-1] == len(self.data))

    def line_text(self, line: int) -> str:
        """A line without its end."""
        starts = self._line_starts
        end = starts[line] if line < len(starts) else len(self.data)
        return self.data[starts[line - 1] : end].decode(errors="replace").rstrip("\r\n")

    def lines(self, cell: int | None = None) -> tuple[int, int]:
        """How many lines precede a cell, and how many it has; the whole text without a cell."""
        for place, one in enumerate(self.cells):
            if one.number == cell:
                after = self.cells[place + 1].first_line if place + 1 < len(self.cells) else len(self) + 1
                return one.first_line - 1, after - one.first_line
        return 0, len(self)
