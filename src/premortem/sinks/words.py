"""A finding in the words of a message, without what must not leave the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from premortem.findings import Finding, Where

HIDDEN = "[hidden]"
SHORTEST = 6  # a shorter value of a variable is an ordinary word too
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|PREMORTEM_SMTP", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)[^/\s@]+@")
_NAMED = re.compile(r"(?i)\b((?:api[_-]?key|token|secret|password|passwd)\s*[=:]\s*)\S+")
_BEARER = re.compile(r"(?i)\b(bearer\s+)\S+")


def scrubbed(text: str) -> str:
    """Without the values of variables that are named like secrets, and without passwords in URLs."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    text = _IN_URL.sub(f"{HIDDEN}@", text)
    return _BEARER.sub(rf"\1{HIDDEN}", _NAMED.sub(rf"\1{HIDDEN}", text))


def place(where: Where) -> str:
    """File name and line: the folders above are nobody's business elsewhere."""
    file = Path(where.file).name if where.file else ""
    line = f"{file}:{where.line}" if file and where.line else file
    return ", ".join(part for part in (line, where.module, where.parameter) if part)


def in_one_line(finding: Finding) -> str:
    at = place(finding.where)
    told = f"{finding.severity.value} at step {finding.step}: {finding.message}{f' ({at})' if at else ''}"
    return scrubbed(" ".join(told.split()))


def lines(finding: Finding) -> list[str]:
    """Head, place, cause, remedy: as far as they are known."""
    head = f"{finding.severity.value} {finding.code} {finding.name} at step {finding.step}"
    labelled = {"where": place(finding.where), "why": finding.cause, "fix": finding.remedy}
    more = [f"{label}: {text}" for label, text in labelled.items() if text]
    return [scrubbed(line) for line in (head, finding.message, *more)]


def as_markdown(finding: Finding) -> str:
    head, *rest = lines(finding)
    return "\n\n".join([f"**{head}**", *rest])
