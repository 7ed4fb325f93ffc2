"""What a person at a terminal sees of a report.

error PM501 dropped-tensor-result
  `x.to()` returns a new tensor and leaves `x` as it was
  where  train.py:4:9
           3 │ for x in loader:
         > 4 │     x.to(device)
             │     ^^^^^^^^^^^^
  fix    Write `x = x.to(...)`.
         - x.to(device)
         + x = x.to(device)
  more   premortem explain PM501
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.console import Console as Terminal
from rich.text import Text

from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Fix, edited
from premortem.lint.fixes import diff
from premortem.lint.listing import Listing
from premortem.lint.output.text import place
from premortem.redaction import source
from premortem.terminal.frame import COLOURS, Frame

WIDTH = 110  # longer lines are hard to read, however wide the window is
RANGE = 4  # lines shown of a report that covers more
CHANGES = 8  # lines shown of a fix


def render(diagnostics: Sequence[Diagnostic], verdict: str) -> str:
    """The text with its colours, as this terminal can show them."""
    terminal = Terminal(highlight=False, markup=False, emoji=False)
    reports = Reports(min(terminal.width, WIDTH), terminal.encoding)
    worst = min((one.severity for one in diagnostics), key=list(Severity).index, default=None)
    with terminal.capture() as capture:
        for one in diagnostics:
            for line in reports.of(one):
                # soft_wrap: the lines have the length they should have.
                terminal.print(line, soft_wrap=True)
            terminal.print()
        terminal.print(Text(verdict, COLOURS[worst] if worst else "bold green"), soft_wrap=True)
    return capture.get()


class Reports:
    def __init__(self, width: int, encoding: str = "utf-8") -> None:
        self.frame = Frame(width, encoding)
        # Reports come sorted by file, so a few files are enough.
        self.listing = lru_cache(maxsize=4)(Listing.read)

    def of(self, report: Diagnostic) -> Iterator[Text]:
        listing, frame = self.listing(report.path), self.frame
        colour = COLOURS[report.severity]
        yield Text.assemble(
            (report.severity.value, colour), (f" {report.card.code} {report.card.name}", "bold")
        )
        yield from frame.wrapped(report.message)
        yield from frame.labelled("where", place(report))
        yield from self._code(report, listing, colour)
        yield from frame.labelled("fix", report.remedy)
        if report.fix:
            if not report.remedy:
                yield from frame.labelled("fix", "premortem can do this:")
            yield from frame.changes(_diff(report.fix, listing, report.path), CHANGES)
        yield from frame.labelled("more", f"premortem explain {report.card.code}")

    def _code(self, report: Diagnostic, listing: Listing, colour: str) -> Iterator[Text]:
        """The reported lines between their neighbours, carets under the range."""
        before, length = listing.lines(report.cell)
        if not 1 <= report.line <= length:
            return
        last = min(report.end_line, report.line + RANGE - 1, length)
        numbers = range(max(report.line - 1, 1), min(last + 1, length) + 1)
        texts = {number: listing.line_text(before + number) for number in numbers}
        shown = {number: source(text, report.path) for number, text in texts.items()}
        first = shown[report.line]
        start = report.column - 1
        end = report.end_column - 1 if report.end_line == report.line else len(first.rstrip())
        if first != texts[report.line]:  # a secret is left out of it, so that columns are others
            start, end = len(first) - len(first.lstrip()), len(first.rstrip())
        yield from self.frame.code(shown, range(report.line, last + 1), (start, end), colour)


def _diff(fix: Fix, listing: Listing, path: str) -> str:
    texts = (listing.data, edited(listing.data, fix.edits))
    return diff(path, *(source(text.decode(errors="replace"), path) for text in texts))
