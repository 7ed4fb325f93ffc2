"""How a card is drawn, whoever reports: wrapped sentences behind a label, and lines of code with carets under what is to blame."""

import itertools
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.text import Text

from premortem.findings import Severity

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
LABEL = 7  # room for "where" and its like
INDENT = " " * (2 + LABEL)
TAB = 4
ELLIPSIS = 3  # columns of "..."
_CONTEXT = 10  # characters behind a change: the rest of the number, and what closes around it


class Frame:
    """Draws for a terminal of this width."""

    def __init__(self, width: int, encoding: str | None = "utf-8") -> None:
        self.width = max(width, 40)
        self.gutter = "│" if (encoding or "").lower().startswith("utf") else "|"

    def labelled(self, label: str, text: str) -> Iterator[Text]:
        for line in self.wrapped(text, first=f"  {label:<{LABEL}}", indent=INDENT):
            line.stylize("dim", 0, len(INDENT))
            yield line

    def wrapped(self, text: str, *, first: str = "  ", indent: str = "  ") -> Iterator[Text]:
        start = first
        for paragraph in text.splitlines():
            lines = textwrap.wrap(
                clean(paragraph),
                self.width,
                initial_indent=start,
                subsequent_indent=indent,
                break_long_words=False,  # a path that is cut in two cannot be opened
                break_on_hyphens=False,
            )
            for line in lines:
                shown = Text(line)
                shown.highlight_regex(r"`[^`]+`", "bold")
                yield shown
                start = indent

    def code(
        self,
        lines: Mapping[int, str],
        blamed: range,
        marked: tuple[int, int] | None,
        colour: str,
        held: str = "",
    ) -> Iterator[Text]:
        """Numbered lines without their ends. The blamed ones have a `>`; under the first of them stand carets where columns are
        marked (from 0, the last one not included), and without carets the line itself has the colour. `held`: what the
        marked expression's variables hold, beside the carets or under them."""
        margin = margin_of(lines.values())
        digits = len(str(max(lines)))
        room = max(self.width - len(INDENT) - digits - 5, 20)
        for number, text in lines.items():
            left = f"{INDENT}{'>' if number in blamed else ' '} {number:>{digits}} {self.gutter} "
            start, end = marked if marked is not None and number == blamed[0] else (0, 0)
            shown, column, width = _window(text, start, end, margin, room)
            plain = "" if marked is not None else colour
            yield Text((left + shown).rstrip(), plain if number in blamed else "dim")
            if marked is not None and number == blamed[0]:
                under = f"{INDENT}  {' ' * digits} {self.gutter} {' ' * column}"
                carets = "^" * max(width, 1)
                shown = clean(held)
                if not shown:
                    yield Text.assemble((under, "dim"), (carets, colour))
                elif column + len(carets) + 1 + cell_len(shown) <= room:
                    yield Text.assemble((under, "dim"), (f"{carets} {shown}", colour))
                else:
                    yield Text.assemble((under, "dim"), (carets, colour))
                    start = max(0, min(column, room - cell_len(shown)))
                    yield Text.assemble(
                        (under[: len(under) - column + start], "dim"), (cut(shown, room - start), colour)
                    )

    def changes(self, diff: str, most: int) -> Iterator[Text]:
        """The lines that a unified diff takes away and the ones it puts there, and what says where: lines between them, and the
        neighbour of a line that only comes or only goes."""
        lines = [line for hunk in _hunks(diff) for line in _around_changes(hunk)]
        margin = margin_of([line[1:] for line in lines])
        differs = _differences(lines)
        room = self.width - len(INDENT) - 2
        for number, line in enumerate(lines[:most]):
            text, _, _ = _window(line[1:], *differs.get(number, (0, 0)), margin, room)
            style = {"+": "green", "-": "red"}.get(line[0], "dim")
            yield Text(f"{INDENT}{line[0]} {text}".rstrip(), style)
        if len(lines) > most:
            yield Text(f"{INDENT}... {len(lines) - most} more lines", "dim")


def _hunks(diff: str) -> Iterator[list[str]]:
    hunk: list[str] | None = None  # none before the first: there stand the names of the files
    for line in diff.splitlines():
        if line.startswith("@@"):
            yield hunk or []
            hunk = []
        elif hunk is not None and line[:1] in {"+", "-", " "}:
            hunk.append(line)
    yield hunk or []


def _around_changes(hunk: list[str]) -> list[str]:
    changed = [place for place, line in enumerate(hunk) if line[0] != " "]
    if not changed:
        return []
    first, last = changed[0], changed[-1]
    if len({hunk[place][0] for place in changed}) == 1:
        last = min(last + 1, len(hunk) - 1)
        first = first if last > changed[-1] else max(first - 1, 0)
    return hunk[first : last + 1]


def _differences(lines: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Where a line that goes and the one that comes in its place differ, so that a long one is not cut off before that."""
    runs = [(sign, list(each)) for sign, each in itertools.groupby(enumerate(lines), lambda pair: pair[1][0])]
    found = {}
    for (sign, gone), (other, came) in itertools.pairwise(runs):
        if (sign, other) != ("-", "+") or len(gone) != len(came):
            continue
        for (before, old), (after, new) in zip(gone, came, strict=True):
            first = _alike(old[1:], new[1:])
            rest = _alike(old[:first:-1], new[:first:-1])
            last = max(len(old), len(new)) - 1 - max(rest - _CONTEXT, 0)
            found[before] = found[after] = first, last
    return found


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next(
        (place for place, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]),
        min(len(one), len(other)),
    )


def margin_of(lines: Iterable[str]) -> int:
    """How many columns all lines have in front."""
    texts = [line.expandtabs(TAB) for line in lines if line.strip()]
    return min((len(text) - len(text.lstrip()) for text in texts), default=0)


def _window(text: str, start: int, end: int, margin: int, room: int) -> tuple[str, int, int]:
    """The part of a line that fits, and where in it the range begins and how wide it is, in columns."""
    line = _drawn(text.expandtabs(TAB))[margin:]
    first = len(_drawn(text[:start].expandtabs(TAB))) - margin
    after = len(_drawn(text[:end].expandtabs(TAB))) - margin
    first, after = max(first, 0), max(after, first)
    if cell_len(line) > room and after + ELLIPSIS > room:
        # As little as the range needs; a range that does not fit is shown from its beginning.
        cut_off = min(after + 2 * ELLIPSIS - room, first)
        line, first, after = f"...{line[cut_off:]}", first - cut_off + ELLIPSIS, after - cut_off + ELLIPSIS
    shown = cut(line, room)
    return shown, cell_len(shown[:first]), cell_len(shown[first:after])


def cut(line: str, width: int) -> str:
    while cell_len(line) > width:
        line = f"{line[: max(width - 3, 1) - (cell_len(line[:width]) - len(line[:width]))]}..."
    return line


def _drawn(text: str) -> str:
    """What is in a file must not steer the terminal; one column for each character, so that carets stand where they should."""
    return "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in text)


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def clean(text: str) -> str:
    """Names and messages of the user's run must not steer the terminal."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)
