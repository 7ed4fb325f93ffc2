"""`--format sarif`: SARIF 2.1.0, which code scanning services and editors read."""

import inspect
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from premortem import __version__
from premortem.findings import Severity
from premortem.lint import problems, rules
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.listing import Listing
from premortem.lint.output.text import whole

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(diagnostics: Sequence[Diagnostic], files: int) -> str:
    codes = sorted({one.card.code for one in diagnostics})
    listing = lru_cache(maxsize=4)(Listing.read)
    run = {
        "tool": {
            "driver": {
                "name": "premortem",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [result(one, codes.index(one.card.code), listing(one.path)) for one in diagnostics],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def rule(code: str) -> dict[str, Any]:
    """What a service shows of a rule: its page is the docstring of the unit."""
    (unit,) = [unit for unit in (*rules.ALL, *problems.ALL) if unit.card.code == code]
    card = unit.card
    page = inspect.getdoc(unit) or ""
    summary = page.partition("\n\n")[0]
    return {
        "id": card.code,
        "name": card.name,
        "shortDescription": {"text": " ".join(summary.split())},
        "fullDescription": {"text": " ".join(summary.split())},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": LEVELS[card.severity]},
        "properties": {"tags": [card.family], "preview": card.preview},
    }


def result(report: Diagnostic, index: int, listing: Listing) -> dict[str, Any]:
    place: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact(report.path)}}
    if report.cell is None:
        place["physicalLocation"]["region"] = {
            "startLine": report.line,
            "startColumn": report.column,
            "endLine": report.end_line,
            "endColumn": max(report.end_column, 1),
        }
    else:
        # A region would be one of the notebook's JSON.
        place["logicalLocations"] = [{"name": f"cell {report.cell}, line {report.line}", "kind": "module"}]
    found: dict[str, Any] = {
        "ruleId": report.card.code,
        "ruleIndex": index,
        "level": LEVELS[report.severity],
        "message": {"text": whole(report)},
        "locations": [place],
    }
    if report.fix and report.cell is None:
        change = {
            "artifactLocation": artifact(report.path),
            "replacements": [*replacements(report, listing)],
        }
        found["fixes"] = [
            {"description": {"text": report.remedy or report.message}, "artifactChanges": [change]}
        ]
    return found


def replacements(report: Diagnostic, listing: Listing) -> Iterator[dict[str, Any]]:
    for edit in report.fix.edits if report.fix else ():
        (line, column), (end_line, end_column) = listing.place(edit.start), listing.place(edit.end)
        yield {
            "deletedRegion": {
                "startLine": line,
                "startColumn": column,
                "endLine": end_line,
                "endColumn": end_column,
            },
            "insertedContent": {"text": edit.text},
        }


def artifact(path: str) -> dict[str, str]:
    file = Path(path)
    if file.is_absolute():
        return {"uri": file.as_uri()}
    return {"uri": quote(file.as_posix()), "uriBaseId": "%SRCROOT%"}
