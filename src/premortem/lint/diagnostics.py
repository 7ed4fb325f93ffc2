"""What a rule says about a place in a file, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass

from premortem.cards import Card
from premortem.findings import Severity
from premortem.redaction import redacted


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes from `start` to `end` of the source by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all of them are made, or none.

    `safe`: what the program means stays the same apart from the mended fault. `--fix` applies safe fixes,
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

    def __post_init__(self) -> None:
        for name in ("message", "remedy"):  # they quote what stands in the file
            object.__setattr__(self, name, redacted(getattr(self, name)))

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        return (self.path, self.cell or 0, self.line, self.column, self.card.code)
