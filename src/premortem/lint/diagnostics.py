"""What a rule reports about a place in a file, and the fix for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from premortem.cards import Card
from premortem.findings import Severity
from premortem.redaction import redacted


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes from `start` to `end` of the source by `text`."""

    start: int
    end: int
    text: str


def edited(data: bytes, edits: Iterable[Edit]) -> bytes:
    """The text after these edits, which do not overlap."""
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end), reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return data


Span = tuple[int | None, int, int, int, int]  # cell, line, column, end line, end column


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all of them are made, or none.

    `safe`: apart from the fixed fault, the program does what it did before. `--fix` applies safe fixes,
    `--unsafe-fixes` the others too.
    """

    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One report. Lines and columns count from 1, columns in characters; `cell` only in notebooks."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    card: Card
    message: str
    remedy: str = ""
    cell: int | None = None
    fix: Fix | None = None
    severity: Severity

    @classmethod
    def at(cls, path: str, span: Span, card: Card, message: str, **more: Any) -> Diagnostic:
        """A report at a place, with the severity of its card unless another one is given."""
        cell, line, column, end_line, end_column = span
        more = {"severity": card.severity, **more}
        place = {"cell": cell, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
        return cls(path=path, card=card, message=message, **place, **more)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        for name in ("message", "remedy"):  # they quote what stands in the file
            object.__setattr__(self, name, redacted(getattr(self, name)))

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        return (self.path, self.cell or 0, self.line, self.column, self.card.code)
