"""The edit of the user's source that removes the cause of a finding, where no report of lint's has one: the edit of the change
that undoes it, or a guard around the operand of an operation that has no finite value there."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from premortem import redaction
from premortem.amounts import short
from premortem.derived.expression import blamed, operands
from premortem.findings import Finding, Patch
from premortem.lint import fixes
from premortem.lint.diagnostics import Edit, Fix, edited
from premortem.lint.parsing import Unreadable
from premortem.lint.source import Source

# float16 rounds smaller ones to 0.
_EPSILON = {"float16": "1e-4"}
_USUAL_EPSILON = "1e-8"
_BESIDE_ONE = "1e-6"  # float32 still tells 1 and its sum with this apart
# Operations that break at the lowest number they are given: which of their operands it is, and the number.
_BROKEN_AT = {
    "div": (1, 0),
    "reciprocal": (0, 0),
    "log": (0, 0),
    "sqrt": (0, 0),
    "rsqrt": (0, 0),
    "log1p": (0, -1),
}
_TIGHT = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)  # a method can be called on these as they stand


def of(finding: Finding, text: str) -> Patch | None:
    """`text`: the whole file that the finding blames, as it was when it ran."""
    file = finding.where.file
    if not file or not finding.where.line or not file.endswith(".py"):
        return None
    for make, title in (
        (_of_change, "a change to try:"),
        (_guarded, "this keeps it finite at that value:"),
    ):
        try:
            fix = make(finding, text)
            if fix is not None:
                after = edited(text.encode(), fix.edits).decode()
                ast.parse(after)
                shown = (redaction.source(each, file) for each in (text, after))
                return Patch(fixes.diff(short(file), *shown), title)
        except (Unreadable, SyntaxError, ValueError, RecursionError):
            continue
    return None


def _of_change(finding: Finding, text: str) -> Fix | None:
    """The smallest change that undoes it; where it would touch several places it is not known which is meant."""
    from premortem.changes import of as changes_for

    undo = [
        (abs(math.log(getattr(change, "factor", 1.0))), change.edit)
        for change in changes_for("learning").values()
        if change.edit is not None and change.learning is not None and change.learning.finding == finding.name
    ]
    for _how_far, make in sorted(undo, key=lambda pair: pair[0])[:1]:
        source = Source.read(finding.where.file or "", text.encode())
        try:
            fix = make(source)
        finally:
            source.release()
        if fix is None or len(fix.edits) != 1 or not _was_in_use(finding, text, fix.edits[0]):
            return None
        return fix
    return None


def _was_in_use(finding: Finding, text: str, edit: Edit) -> bool:
    """Not a default that an option, a config or a sweep has replaced: changing that changes nothing."""
    rate = finding.evidence.get("rate")
    if not isinstance(rate, (int, float)):
        return True
    try:
        return math.isclose(float(text.encode()[edit.start : edit.end].decode()), rate, rel_tol=0.01)
    except ValueError:
        return True  # no number stands there


def _guarded(finding: Finding, text: str) -> Fix | None:
    """Only where the operand is never below that number: of a divisor with both signs small values have no side to go to."""
    op, held = finding.evidence.get("op"), finding.evidence.get("operands") or ()
    node, (place, edge) = blamed(finding, text), _BROKEN_AT.get(str(op), (-1, 0))
    if node is None or place < 0 or finding.evidence.get("stage") not in {"forward", "backward"}:
        return None
    given = operands(node)
    if len(given) <= place or len(held) <= place or not _starts_at(held[place], edge):
        return None
    operand = given[place]
    if isinstance(operand, (ast.Constant, ast.Starred)):
        return None
    low_precision = _EPSILON.get(str(finding.evidence.get("dtype")))
    least = low_precision or _USUAL_EPSILON if not edge else f"{edge} + {low_precision or _BESIDE_ONE}"
    source = Source.read(finding.where.file or "", text.encode())
    try:
        start, end = source.range(operand)
        guard = f".clamp(min={least})"
        if isinstance(operand, _TIGHT):
            return Fix((Edit(end, end, guard),), safe=False)
        if (
            isinstance(node, ast.BinOp)
            and source.data[start - 1 : start] + source.data[end : end + 1] == b"()"
        ):
            return Fix((Edit(end + 1, end + 1, guard),), safe=False)
        return Fix((Edit(start, start, "("), Edit(end, end, f"){guard}")), safe=False)
    finally:
        source.release()


def _starts_at(operand: Any, edge: int) -> bool:
    return isinstance(operand, Mapping) and operand.get("low") == edge
