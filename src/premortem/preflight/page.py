"""The verdict page: four sections with facts and findings, and one line that says it all."""

import shlex
import sys
import textwrap
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console as Terminal
from rich.text import Text

from premortem import __version__, redaction
from premortem.files.plain import dumps
from premortem.findings import NOUNS, Finding, Severity, tally
from premortem.preflight.project import Part, Project
from premortem.preflight.wording import place
from premortem.terminal.console import WIDTH, Console
from premortem.terminal.frame import COLOURS, clean

REMARKS = 3  # shown of a section; --findings has them all
BROKEN, DOUBTFUL, FINE = "broken", "doubtful", "fine"
UNFINISHED = "unfinished"  # interrupted, and nothing was found by then
_LONG = 0.5  # seconds of a start that is worth a word
_VERDICTS = {
    BROKEN: ("This {} is broken", "bold red"),
    DOUBTFUL: ("This {} may fail you", "bold yellow"),
    FINE: ("Nothing speaks against this {}", "bold green"),
}


def verdict(parts: Sequence[Part]) -> str:
    severities = {finding.severity for part in parts for finding in part.findings}
    if Severity.ERROR in severities:
        return BROKEN
    return DOUBTFUL if Severity.WARNING in severities else FINE


def show(
    project: Project,
    parts: Sequence[Part],
    seconds: float,
    start_up: float = 0.0,
    *,
    interrupted: str = "",
    silenced: int = 0,
) -> None:
    """Everything on stdout: the page is what was asked for. `interrupted`: after how many of the parts."""
    line = _verdict_line(project, parts, seconds, start_up, interrupted, silenced)
    _Page(sys.stdout).show(project, parts, line)


class _Page:
    def __init__(self, stream: TextIO) -> None:
        self._findings = Console(stream=stream)
        self._terminal = Terminal(file=stream, highlight=False, markup=False, emoji=False)
        self._width = min(self._terminal.width, WIDTH) if self._terminal.is_terminal else WIDTH

    def show(self, project: Project, parts: Sequence[Part], verdict_line: Text) -> None:
        self._line(Text(_title(project), "dim"))
        room = max((len(label) for part in parts for label, _text in part.facts), default=0)
        for part in parts:
            self._section(part, room)
        self._line(Text())
        self._line(verdict_line)

    def _section(self, part: Part, room: int) -> None:
        self._line(Text())
        worst = min((f.severity for f in part.findings), key=list(Severity).index, default=None)
        colour = "dim" if worst is None else COLOURS[worst]
        state = "not looked at" if part.skipped and not part.findings else _counted(part.findings) or "fine"
        self._line(Text.assemble((part.title, "bold"), ("  ", ""), (state, colour)))
        if part.skipped:
            self._fact("", part.skipped, -2)
        for label, text in part.facts:
            self._fact(label, text, room)
        for severity in (Severity.ERROR, Severity.WARNING):
            for finding in part.findings:
                if finding.severity is severity:
                    self._findings.finding(finding)
        self._remarks([finding for finding in part.findings if finding.severity is Severity.INFO], room)

    def _fact(self, label: str, text: str, room: int) -> None:
        first, indent = f"  {label:<{max(room, 0)}}  ", " " * (room + 4)
        for start, paragraph in zip([first, *[indent] * text.count("\n")], text.splitlines(), strict=False):
            lines = textwrap.wrap(
                redaction.redacted(paragraph),
                max(self._width, 40),
                initial_indent=start if room >= 0 else "  ",
                subsequent_indent=indent if room >= 0 else "  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in lines:
                shown = Text(_printable(line))
                if room >= 0:
                    shown.stylize("dim", 0, len(indent))
                self._line(shown)

    def _remarks(self, remarks: Sequence[Finding], room: int) -> None:
        for finding in remarks[:REMARKS]:
            at = f" ({place(finding.where)})" if finding.where.file else ""
            self._fact(NOUNS[Severity.INFO], f"{finding.code} {finding.message}{at}", max(room, 6))
        if len(remarks) > REMARKS:
            self._fact("", f"and {len(remarks) - REMARKS} more remarks: --findings FILE.json has them", room)

    def _line(self, text: Text) -> None:
        self._terminal.print(text, soft_wrap=True)


def _title(project: Project) -> str:
    words = project.command if project.target else []
    data = [word for folder in project.data for word in ("--data", str(folder))]
    return _printable(f"premortem check {shlex.join([*data, *redaction.argv(words)])}")


def _verdict_line(
    project: Project, parts: Sequence[Part], seconds: float, start_up: float, interrupted: str, silenced: int
) -> Text:
    said = verdict(parts)
    pattern, colour = _VERDICTS[said]
    sentence = pattern.format("run" if project.target else "data")
    if interrupted:
        colour = "bold yellow" if said == FINE else colour
        so_far = "nothing found by then" if said == FINE else sentence[0].lower() + sentence[1:]
        sentence = f"Interrupted after {interrupted}: {so_far}"
    found = _counted([finding for part in parts for finding in part.findings])
    text = Text(f"{sentence}{': ' + found if found else ''}.", colour)
    if silenced:
        text.append(f" {silenced} silenced.", "dim")
    missing = [part.title.lower() for part in parts if part.skipped]
    if missing:
        text.append(f" Not looked at: {', '.join(missing)}.")
    own = f", {start_up:.1f} s of it the script's own start" if start_up >= _LONG else ""
    text.append(f" {seconds:.1f} s{own}.", "dim")
    return text


def _counted(findings: Sequence[Finding]) -> str:
    return tally(finding.severity for finding in findings)


def _printable(text: str) -> str:
    """Names of files and settings must not steer the terminal."""
    return clean(redaction.redacted(text))


def record(project: Project, parts: Sequence[Part], run: dict[str, Any], *, interrupted: bool = False) -> str:
    """As JSON, for other tools."""
    said = verdict(parts)
    whole = {
        "premortem": __version__,
        "verdict": UNFINISHED if interrupted and said == FINE else said,
        "run": run,
        "parts": [
            {
                "title": part.title,
                "skipped": part.skipped,
                "facts": dict(part.facts),
                "record": part.record,
                "findings": [finding.to_json() for finding in part.findings],
            }
            for part in parts
        ],
    }
    return dumps(whole, indent=2) + "\n"
