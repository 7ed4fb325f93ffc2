"""`--statistics`: how often each rule spoke, instead of every single report."""

import json
from collections import Counter
from collections.abc import Sequence

from premortem.lint.diagnostics import Diagnostic

HEAD = ("count", "fixable", "severity", "code", "name")


def rows(diagnostics: Sequence[Diagnostic]) -> list[tuple[int, int, str, str, str]]:
    """The most frequent first."""
    counts: Counter[tuple[str, str, str]] = Counter()
    fixable: Counter[tuple[str, str, str]] = Counter()
    for one in diagnostics:
        key = (one.severity.value, one.card.code, one.card.name)
        counts[key] += 1
        fixable[key] += one.fix is not None
    found = [(number, fixable[key], *key) for key, number in counts.items()]
    return sorted(found, key=lambda row: (-row[0], row[3], row[2]))


def table(diagnostics: Sequence[Diagnostic], files: int) -> str:
    from premortem.lint.output.text import verdict

    cells = [HEAD, *(tuple(map(str, row)) for row in rows(diagnostics))]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if column < 2 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join([*(lines if diagnostics else []), verdict(diagnostics, files)]) + "\n"


def records(diagnostics: Sequence[Diagnostic], files: int) -> str:
    found = [dict(zip(HEAD, row, strict=True)) for row in rows(diagnostics)]
    return json.dumps(found, indent=2) + "\n"
