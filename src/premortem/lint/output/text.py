"""`--format text`: a code frame for each report at a terminal, one line for each in a pipe.

A pipe is read by grep, editors and logs, so it gets no frames; and rich is not even imported for it.
"""

import sys
from collections.abc import Sequence

from premortem.amounts import count
from premortem.findings import tally
from premortem.lint.diagnostics import Diagnostic


def place(diagnostic: Diagnostic) -> str:
    cell = f"cell {diagnostic.cell}:" if diagnostic.cell is not None else ""
    return f"{diagnostic.path}:{cell}{diagnostic.line}:{diagnostic.column}"


def whole(report: Diagnostic) -> str:
    """Message and remedy as sentences; with its place inside a notebook, which a line number alone cannot say."""
    parts = [part.strip().rstrip(".") + "." for part in (report.message, report.remedy) if part.strip()]
    text = " ".join(parts)
    return text if report.cell is None else f"cell {report.cell}, line {report.line}: {text}"


def verdict(diagnostics: Sequence[Diagnostic], files: int) -> str:
    """One line about all of them."""
    if not diagnostics:
        return f"nothing to report in {count(files, 'file')}"
    found = tally(one.severity for one in diagnostics)
    safe = sum(one.fix is not None and one.fix.safe for one in diagnostics)
    unsafe = sum(one.fix is not None and not one.fix.safe for one in diagnostics)
    hints = [f"{safe} can be fixed with `--fix`"] if safe else []
    hints += [f"{unsafe} {'more ' if safe else 'can be fixed '}with `--unsafe-fixes`"] if unsafe else []
    return f"{found} in {count(files, 'file')}" + "".join(f"; {', '.join(hints)}" for _ in hints[:1])


def plain(diagnostics: Sequence[Diagnostic], files: int) -> str:
    lines = []
    for one in diagnostics:
        lines.append(f"{place(one)}: {one.severity.value} {one.card.code} {one.card.name}: {one.message}")
        if one.remedy:
            lines.append(f"    {one.remedy}")
    return "".join(f"{line}\n" for line in [*lines, verdict(diagnostics, files)])


def render(diagnostics: Sequence[Diagnostic], files: int) -> str:
    if not sys.stdout.isatty():
        return plain(diagnostics, files)
    from premortem.lint.output import frames

    return frames.render(diagnostics, verdict(diagnostics, files))
