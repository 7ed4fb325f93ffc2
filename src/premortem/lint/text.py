"""The bytes of a file as lines: where each begins, and which place a byte is at."""

import bisect
from functools import cached_property

from premortem.lint.patterns import pattern

BOM = b"\xef\xbb\xbf"
NEWLINE = pattern(rb"\r\n|\r|\n")


class Lines:
    """Offsets are in bytes, lines and columns count from 1, columns in characters."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def _line_starts(self) -> list[int]:
        first = len(BOM) if self.data.startswith(BOM) else 0
        return [first, *(match.end() for match in NEWLINE.finditer(self.data))]

    def offset(self, line: int, column: int) -> int:
        """The byte at which ast's (line, column in bytes from 0) stands."""
        return self._line_starts[line - 1] + column

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a byte."""
        line = bisect.bisect_right(self._line_starts, offset) or 1
        return line, self.column(line, offset - self._line_starts[line - 1])

    def column(self, line: int, column: int) -> int:
        """ast's column as people count it."""
        start = self._line_starts[line - 1]
        return len(self.data[start : start + column].decode(errors="replace")) + 1
