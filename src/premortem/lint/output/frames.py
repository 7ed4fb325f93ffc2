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

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.console import Console as Terminal
from rich.text import Text

from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic, Fix, edited
from premortem.lint.listing import Listing
from premortem.lint.output.text import place
from premortem.redaction import source

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
WIDTH = 110  # longer lines are hard to read, however wide the window is
INDENT = " " * 9  # room for "  where  " and its like
RANGE = 4  # lines shown of a report that covers more
CHANGES = 8  # lines shown of a fix
TAB = 4
ELLIPSIS = 3  # columns of "..."


def render(diagnostics: Sequence[Diagnostic], verdict: str) -> str:
    """The text with its colours, as this terminal can show them."""
    terminal = Terminal(highlight=False, markup=False, emoji=False)
    frame = Frame(min(terminal.width, WIDTH), terminal.encoding)
    worst = min((one.severity for one in diagnostics), key=list(Severity).index, default=None)
    with terminal.capture() as capture:
        for one in diagnostics:
            for line in frame.of(one):
                # soft_wrap: the lines have the length they should have.
                terminal.print(line, soft_wrap=True)
            terminal.print()
        terminal.print(Text(verdict, COLOURS[worst] if worst else "bold green"), soft_wrap=True)
    return capture.get()


class Frame:
    """Draws reports for a terminal of this width."""

    def __init__(self, width: int, encoding: str = "utf-8") -> None:
        self.width = max(width, 40)
        self.gutter = "│" if encoding.lower().startswith("utf") else "|"
        # Reports come sorted by file, so a few files are enough.
        self.listing = lru_cache(maxsize=4)(Listing.read)

    def of(self, report: Diagnostic) -> Iterator[Text]:
        listing = self.listing(report.path)
        colour = COLOURS[report.severity]
        yield Text.assemble(
            (report.severity.value, colour), (f" {report.card.code} {report.card.name}", "bold")
        )
        yield from self._wrapped("  ", "  ", report.message)
        yield from self._labelled("where", place(report))
        yield from self._code(report, listing, colour)
        yield from self._labelled("fix", report.remedy)
        if report.fix:
            if not report.remedy:
                yield from self._labelled("fix", "premortem can do this:")
            yield from self._changes(report.fix, listing, report.path)
        yield from self._labelled("more", f"premortem explain {report.card.code}")

    def _labelled(self, label: str, text: str) -> Iterator[Text]:
        for line in self._wrapped(f"  {label:<7}", INDENT, text):
            line.stylize("dim", 0, len(INDENT))
            yield line

    def _wrapped(self, first: str, rest: str, text: str) -> Iterator[Text]:
        lines = textwrap.wrap(
            _clean(text),
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,  # a path that is cut in two cannot be opened
            break_on_hyphens=False,
        )
        for line in lines:
            shown = Text(line)
            shown.highlight_regex(r"`[^`]+`", "bold")
            yield shown

    def _code(self, report: Diagnostic, listing: Listing, colour: str) -> Iterator[Text]:
        """The reported lines between their neighbours, carets under the range."""
        before, length = listing.lines(report.cell)
        if not 1 <= report.line <= length:
            return
        last = min(report.end_line, report.line + RANGE - 1, length)
        numbers = range(max(report.line - 1, 1), min(last + 1, length) + 1)
        texts = {number: listing.line_text(before + number) for number in numbers}
        margin = _margin(texts.values())
        digits = len(str(numbers[-1]))
        room = self.width - len(INDENT) - digits - 6
        for number, text in texts.items():
            blamed = report.line <= number <= last
            left = f"{INDENT}{'>' if blamed else ' '} {number:>{digits}} {self.gutter} "
            start = report.column - 1 if number == report.line else len(text) - len(text.lstrip())
            end = report.end_column - 1 if number == report.end_line else len(text.rstrip())
            harmless = source(text, report.path)
            if harmless != text:  # a secret is left out of it, so that columns are others
                start, end = len(harmless) - len(harmless.lstrip()), len(harmless.rstrip())
            shown, column, width = _window(harmless, start, end, margin, room)
            yield Text((left + shown).rstrip(), "" if blamed else "dim")
            if number == report.line:
                under = f"{INDENT}  {' ' * digits} {self.gutter} {' ' * column}"
                yield Text.assemble((under, "dim"), ("^" * max(width, 1), colour))

    def _changes(self, fix: Fix, listing: Listing, path: str) -> Iterator[Text]:
        """The lines that the fix takes away and the ones it puts there."""
        old = source(listing.data.decode(errors="replace"), path).splitlines()
        new = source(edited(listing.data, fix.edits).decode(errors="replace"), path).splitlines()
        diff = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
        lines = [line for line in diff if not line.startswith("@@")]
        margin = _margin([line[1:] for line in lines])
        for line in lines[:CHANGES]:
            text = _cut(_clean(line[1:].expandtabs(TAB)[margin:]), self.width - len(INDENT) - 2)
            yield Text(f"{INDENT}{line[0]} {text}", "green" if line[0] == "+" else "red")
        if len(lines) > CHANGES:
            yield Text(f"{INDENT}... {len(lines) - CHANGES} more lines", "dim")


def _margin(lines: Iterable[str]) -> int:
    """How many columns all lines have in front."""
    texts = [line.expandtabs(TAB) for line in lines if line.strip()]
    return min((len(text) - len(text.lstrip()) for text in texts), default=0)


def _window(text: str, start: int, end: int, margin: int, room: int) -> tuple[str, int, int]:
    """The part of a line that fits, and where in it the range begins and how wide it is, in columns."""
    line = _clean(text.expandtabs(TAB))[margin:]
    first = len(_clean(text[:start].expandtabs(TAB))) - margin
    after = len(_clean(text[:end].expandtabs(TAB))) - margin
    first, after = max(first, 0), max(after, first)
    if cell_len(line) > room and after + ELLIPSIS > room:
        # As little as the range needs; a range that does not fit is shown from its beginning.
        cut = min(after + 2 * ELLIPSIS - room, first)
        line, first, after = f"...{line[cut:]}", first - cut + ELLIPSIS, after - cut + ELLIPSIS
    shown = _cut(line, room)
    return shown, cell_len(shown[:first]), cell_len(shown[first:after])


def _cut(line: str, width: int) -> str:
    while cell_len(line) > width:
        line = f"{line[: max(width - 3, 1) - (cell_len(line[:width]) - len(line[:width]))]}..."
    return line


def _clean(text: str) -> str:
    """What is in a file must not steer the terminal."""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)
