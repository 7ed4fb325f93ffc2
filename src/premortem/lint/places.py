"""From the places of reports and edits to those of the language server protocol."""

import difflib
from collections.abc import Callable

from lsprotocol import types as lsp

from premortem.derived.expression import marked
from premortem.findings import Finding, Severity
from premortem.lint.diagnostics import Diagnostic, Edit
from premortem.lint.listing import Listing

SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFO: lsp.DiagnosticSeverity.Information,
}


class Places:
    """The places of one text; `units` counts a piece of a line in the units that the editor counts in."""

    def __init__(self, listing: Listing, units: Callable[[str], int]) -> None:
        self.listing = listing
        self._units = units

    def position(self, line: int, column: int) -> lsp.Position:
        """From line and column as reports count them."""
        return lsp.Position(line - 1, self._units(self.listing.line_text(line)[: column - 1]))

    def range(self, report: Diagnostic) -> lsp.Range:
        start = self.position(report.line, report.column)
        end = self.position(report.end_line, report.end_column)
        return lsp.Range(start, max(start, end, key=_order))

    def diagnostic(self, report: Diagnostic) -> lsp.Diagnostic:
        return lsp.Diagnostic(
            range=self.range(report),
            severity=SEVERITIES[report.severity],
            code=report.card.code,
            source="premortem",
            message=f"{report.message}\n{report.remedy}".strip(),
        )

    def of_run(self, finding: Finding, text: str) -> lsp.Diagnostic:
        """What a run has found, at the expression to blame, or at the whole line."""
        line = finding.where.line or 1
        shown = self.listing.line_text(line).rstrip("\r\n")
        start, end = marked(finding, text) or (len(shown) - len(shown.lstrip()), len(shown))
        said = [
            f"{finding.message} (step {finding.step}, {finding.certainty.value})",
            finding.cause,
            finding.remedy,
        ]
        return lsp.Diagnostic(
            range=lsp.Range(self.position(line, start + 1), self.position(line, end + 1)),
            severity=SEVERITIES[finding.severity],
            code=finding.code,
            source="premortem run",
            message="\n".join(filter(None, said)),
        )

    def edit(self, edit: Edit) -> lsp.TextEdit:
        start = self.position(*self.listing.place(edit.start))
        return lsp.TextEdit(lsp.Range(start, self.position(*self.listing.place(edit.end))), edit.text)

    def edits_to(self, data: bytes) -> list[lsp.TextEdit]:
        """The lines to replace to get from this text to another one; the rest keeps its cursors and folds."""
        old, new = self.listing.data.splitlines(keepends=True), data.splitlines(keepends=True)
        starts = [0]
        for line in old:
            starts.append(starts[-1] + len(line))
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        return [
            self.edit(Edit(starts[first], starts[last], b"".join(new[start:end]).decode(errors="replace")))
            for tag, first, last, start, end in matcher.get_opcodes()
            if tag != "equal"
        ]


def _order(position: lsp.Position) -> tuple[int, int]:
    return position.line, position.character


def touch(one: lsp.Range, other: lsp.Range) -> bool:
    """Whether two ranges overlap or meet: a cursor between two letters is at both."""
    return _order(one.start) <= _order(other.end) and _order(other.start) <= _order(one.end)
