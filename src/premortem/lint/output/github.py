"""`--format github`: workflow commands, which GitHub shows as annotations beside the changed lines."""

import os
from collections.abc import Sequence

from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.output.text import whole

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def command(report: Diagnostic) -> str:
    properties: dict[str, object] = {
        "title": f"premortem {report.card.code} {report.card.name}",
        "file": _inside(report.path),
    }
    # The lines of a notebook's file are JSON: an annotation there would stand beside the wrong one.
    if report.cell is None:
        properties |= {"line": report.line, "endLine": report.end_line}
        if report.end_line == report.line:  # columns are only understood within one line
            properties |= {"col": report.column, "endColumn": report.end_column}
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{COMMANDS[report.severity]} {given}::{_data(whole(report))}\n"


def _inside(path: str) -> str:
    """Relative to the folder the job works in, which is how GitHub knows files."""
    inside = os.path.relpath(path)
    return (path if inside.startswith(os.pardir) else inside).replace("\\", "/")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(diagnostics: Sequence[Diagnostic], files: int) -> str:
    return "".join(map(command, diagnostics))
