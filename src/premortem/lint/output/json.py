"""`--format json`: a list, for other tools. The keys are a contract."""

import json
from collections.abc import Sequence
from typing import Any

from premortem.lint.diagnostics import Diagnostic


def record(diagnostic: Diagnostic) -> dict[str, Any]:
    found = {
        "path": diagnostic.path,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "code": diagnostic.card.code,
        "name": diagnostic.card.name,
        "family": diagnostic.card.family,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "remedy": diagnostic.remedy,
        "end_line": diagnostic.end_line,
        "end_column": diagnostic.end_column,
        "fixable": diagnostic.fix is not None,
    }
    if diagnostic.cell is not None:
        found["cell"] = diagnostic.cell
    return found


def render(diagnostics: Sequence[Diagnostic], files: int) -> str:
    return json.dumps([record(one) for one in diagnostics], indent=2, ensure_ascii=False) + "\n"
