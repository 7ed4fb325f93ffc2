"""`--format text`: one line for each diagnostic, as editors and people read them."""

from __future__ import annotations

from collections.abc import Sequence

from premortem.lint.diagnostics import Diagnostic


def place(diagnostic: Diagnostic) -> str:
    cell = f"cell {diagnostic.cell}:" if diagnostic.cell is not None else ""
    return f"{diagnostic.path}:{cell}{diagnostic.line}:{diagnostic.column}"


def render(diagnostics: Sequence[Diagnostic]) -> str:
    lines = []
    for one in diagnostics:
        lines.append(f"{place(one)}: {one.severity.value} {one.card.code} {one.card.name}: {one.message}")
        if one.remedy:
            lines.append(f"    {one.remedy}")
    return "".join(f"{line}\n" for line in lines)
