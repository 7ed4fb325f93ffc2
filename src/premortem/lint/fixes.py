"""Applies fixes: byte-range edits, bottom up, never overlapping, and only if the result still parses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from premortem.lint.diagnostics import Diagnostic, Edit, Fix


@dataclass(frozen=True, slots=True)
class Mended:
    """The bytes after the fixes, and how many of them were made."""

    data: bytes
    fixes: int


def apply(data: bytes, diagnostics: Iterable[Diagnostic], *, unsafe: bool = False) -> Mended:
    """Make every fix that may be made; of two that overlap, the first in the file."""
    chosen: list[Edit] = []
    count = 0
    for fix in _in_order(diagnostics, unsafe=unsafe):
        if all(not _overlap(edit, other) for edit in fix.edits for other in chosen):
            chosen += fix.edits
            count += 1
    for edit in sorted(chosen, key=lambda edit: edit.start, reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    return Mended(data, count)


def _in_order(diagnostics: Iterable[Diagnostic], *, unsafe: bool) -> list[Fix]:
    fixes = dict.fromkeys(one.fix for one in diagnostics if one.fix is not None and (one.fix.safe or unsafe))
    return sorted(fixes, key=lambda fix: min(edit.start for edit in fix.edits))


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end or other.start == other.end:
        return one.start == other.start or (
            min(one.start, other.start) < max(one.start, other.start) < max(one.end, other.end)
        )
    return one.start < other.end and other.start < one.end
