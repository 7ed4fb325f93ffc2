"""Which findings are not shown, because the project, the command line or a comment says so; and how grave others are.

A silenced finding is kept with its reason in `evidence["silenced"]`: it still explains its consequences, which would
otherwise appear in its place. It is not shown, not counted, and ends no run.
"""

import ast
import linecache
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from premortem.findings import Finding, Severity
from premortem.settings.comments import Suppressions
from premortem.settings.matching import matches, matches_path
from premortem.settings.project import Shared

KEY = "silenced"


class Silence:
    """Asked about every finding."""

    def __init__(self, settings: Shared | None = None) -> None:
        self._settings = settings or Shared()

    def apply(self, finding: Finding) -> Finding:
        """The finding as the settings want it: with their severity, marked if it is to be silent."""
        for word, severity in self._settings.severity.items():
            if matches(finding, word):
                finding = replace(finding, severity=Severity(severity))
        reason = self._reason(finding)
        return finding.with_evidence(**{KEY: reason}) if reason else finding

    def without(self, records: Iterable[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
        """Findings as JSON, those that are to be silent taken out, and how many these are."""
        judged = [self.apply(Finding.from_json(record)) for record in records]
        kept = shown(judged)
        return [finding.to_json() for finding in kept], len(judged) - len(kept)

    def _reason(self, finding: Finding) -> str:
        asked = self._settings
        word = next((word for word in asked.ignore if matches(finding, word)), None)
        if word is not None:
            return f"ignore {word}"
        if asked.select and not any(matches(finding, word) for word in asked.select):
            return "not selected"
        file, line = finding.where.file, finding.where.line
        if file is None:
            return ""
        for pattern, words in asked.per_file_ignores.items():
            if matches_path(file, pattern, asked.root) and any(matches(finding, word) for word in words):
                return f"per-file-ignores {pattern}"
        if asked.comments and line and _commented(file, line, finding.code, finding.name):
            return "a comment on the line"
        return ""


def shown(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if KEY not in finding.evidence]


def _commented(file: str, line: int, code: str, name: str) -> bool:
    """Whether a comment on the statement of this line silences it."""
    lines = linecache.getlines(file)
    if not any("premortem" in each or "noqa" in each for each in lines):
        return False
    text = "".join(lines)
    found = Suppressions(text.encode(), python=True)
    return found.silences({line, *_statement(text, line)}, code, name)


@lru_cache(maxsize=16)
def _statements(text: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    simple = (node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not hasattr(node, "body"))
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in simple)


def _statement(text: str, line: int) -> tuple[int, ...]:
    """The first and the last line of the statement around a line."""
    return next((place for place in _statements(text) if place[0] <= line <= place[1]), ())
