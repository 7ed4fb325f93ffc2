"""Findings as an HTML card, for notebooks. Works on light and dark pages; nothing is loaded from elsewhere."""

import linecache
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from premortem import redaction
from premortem.derived.expression import marked
from premortem.findings import Finding, Severity, Where
from premortem.terminal.console import evidence_text, harmless

COLOURS = {Severity.ERROR: "#d64545", Severity.WARNING: "#c98a00", Severity.INFO: "#3b82c4"}
CALM = "#2e9e6b"
MOST = 50  # findings of one card
BOX = "border-left:4px solid {};padding:.4em .9em;margin:.5em 0;font-family:sans-serif;font-size:.95em"
FAINT = "opacity:.7"
ROW = "display:flex"
LABEL = "flex:0 0 3.6em"


def card(findings: Sequence[Finding], headline: str) -> str:
    """The headline, and below it one box for each finding. All text is escaped."""
    colour = COLOURS[findings[0].severity] if findings else CALM
    boxes = "".join(_box(harmless(finding)) for finding in findings[:MOST])
    more = len(findings) - MOST
    rest = f"<div style='{FAINT}'>and {more} more</div>" if more > 0 else ""
    return f"<div style='{BOX.format(colour)}'><b>{escape(headline)}</b>{boxes}{rest}</div>"


def _box(finding: Finding) -> str:
    colour = COLOURS[finding.severity]
    step = f" at step {finding.step}" if finding.step else ""
    head = (
        f"<b style='color:{colour}'>{finding.severity.value}</b> <b>{escape(finding.code)} {escape(finding.name)}</b>"
        f"<span style='{FAINT}'>{step} ({finding.certainty.value})</span>"
    )
    rows = [f"<div style='margin:.2em 0'>{_text(finding.message)}</div>", _code(finding)]
    labelled = {
        "where": _place(finding.where),
        "seen": evidence_text(finding.seen),
        "why": finding.cause,
        "fix": finding.remedy,
        "more": f"premortem explain {finding.code}",
    }
    rows += [
        f"<div style='{ROW}'><span style='{FAINT};{LABEL}'>{label}</span><span>{_text(text)}</span></div>"
        for label, text in labelled.items()
        if text
    ]
    if finding.patch is not None:
        rows.append(f"<pre style='margin:.3em 0'>{escape(finding.patch.diff)}</pre>")
    return f"<div style='{BOX.format(colour)}'><div>{head}</div>{''.join(rows)}</div>"


def _text(text: str) -> str:
    """Escaped; what stands between backticks is code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _code(finding: Finding) -> str:
    where = finding.where
    lines = linecache.getlines(where.file) if where.file and where.line else []
    if not where.line or where.line > len(lines):
        return ""
    text = redaction.source("".join(lines), where.file or "")
    line = text.split("\n")[where.line - 1]
    start, end = marked(finding, text) or (0, 0)
    shown = (
        f"{escape(line[:start])}<u>{escape(line[start:end])}</u>{escape(line[end:])}" if end else escape(line)
    )
    return f"<pre style='margin:.3em 0'>{where.line} │ {shown.strip()}</pre>" if line.strip() else ""


def _place(where: Where) -> str:
    """A cell has no file that could be opened; its line is in the code above."""
    cell = where.file is not None and ("<" in where.file or "ipykernel" in where.file)
    file = "this cell" if cell else Path(where.file).name if where.file else ""
    line = f"{file}, line {where.line}" if file and where.line else file
    return ", ".join(part for part in (line, where.module or "", where.parameter or "") if part)
