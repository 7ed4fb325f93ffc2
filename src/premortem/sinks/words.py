"""A finding in the words of a message, without what must not leave the machine."""

from __future__ import annotations

from pathlib import Path

from premortem.findings import Finding, Where
from premortem.redaction import redacted


def place(where: Where) -> str:
    """File name and line, without the folders above: they may be private."""
    line = where.spot(lambda file: Path(file).name)
    return ", ".join(part for part in (line, where.module, where.parameter) if part)


def in_one_line(finding: Finding) -> str:
    at = place(finding.where)
    line = f"{finding.severity.value} at step {finding.step}: {finding.message}{f' ({at})' if at else ''}"
    return redacted(" ".join(line.split()))


def lines(finding: Finding) -> list[str]:
    """Head, place, cause, remedy: as far as they are known."""
    head = f"{finding.severity.value} {finding.code} {finding.name} at step {finding.step}"
    labelled = {"where": place(finding.where), "why": finding.cause, "fix": finding.remedy}
    more = [f"{label}: {text}" for label, text in labelled.items() if text]
    return [redacted(line) for line in (head, finding.message, *more)]


def as_markdown(finding: Finding) -> str:
    head, *rest = lines(finding)
    return "\n\n".join([f"**{head}**", *rest])
