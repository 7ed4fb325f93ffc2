"""The words of a report that formats share."""

from __future__ import annotations

from premortem.lint.diagnostics import Diagnostic


def whole(report: Diagnostic) -> str:
    """Message and remedy as sentences; with its place inside a notebook, which a line number alone cannot say."""
    parts = [part.strip().rstrip(".") + "." for part in (report.message, report.remedy) if part.strip()]
    text = " ".join(parts)
    return text if report.cell is None else f"cell {report.cell}, line {report.line}: {text}"
