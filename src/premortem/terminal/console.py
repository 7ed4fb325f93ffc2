"""What the user sees of premortem in the terminal.

    error OW101 parameter-without-optimizer at step 1 (measured)
      `model.head.weight` gets a gradient and no optimizer holds it
      where  finetune.py:41
               40 │ optimizer = torch.optim.AdamW(model.parameters())
             > 41 │ model.head = nn.Linear(64, 5)
                  │ ^^^^^^^^^^
               42 │ train(model, optimizer)
      seen   parameters 2, gradient norm 0.4127
      why    The optimizer was built before the head was replaced.
      fix    Build the optimizer last.
      help:  `premortem lint --unsafe-fixes --select PM539 finetune.py` makes this change:
             - optimizer = torch.optim.AdamW(model.parameters())
             + optimizer = torch.optim.AdamW(model.parameters())
      more   premortem explain OW101

Everything goes to stderr, so that stdout stays the script's; a page that was asked for goes where its verb says.
"""

import io
import linecache
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console as Terminal
from rich.text import Text

from premortem import redaction
from premortem.amounts import count, short
from premortem.derived.expression import marked, values
from premortem.findings import Finding, Severity, Where, tally
from premortem.terminal.frame import COLOURS, Frame, clean
from premortem.terminal.printed_lines import unread

WIDTH = 100  # longer lines are hard to read, however wide the window is
CONTEXT = 1  # lines of code shown on either side of the one to blame
EVIDENCE = 6  # values shown; the journal has them all
ITEMS = 3  # of a list, likewise
SAID = ("trail", "shapes")  # the cause tells the way, and the shapes stand beside the carets
CHANGES = 8  # lines shown of a patch; the findings file has it whole


class Console:
    """Shows findings to a person. With `quiet` it shows no findings; with `mute` nothing but a wrong call of premortem."""

    def __init__(
        self,
        quiet: bool = False,
        stream: TextIO | None = None,
        *,
        plain: bool = False,
        mute: bool = False,
    ) -> None:
        self.quiet = quiet or mute
        self._mute = mute
        # The stream as it is now: a script that later redirects its own stderr does not hide findings.
        # There is none at all after `2>&-`.
        self._stream: TextIO = stream or getattr(sys, "stderr", None) or io.StringIO()
        self._terminal = Terminal(
            file=self._stream,
            highlight=False,
            markup=False,
            emoji=False,
            force_terminal=False if plain else None,  # a kernel asks for colours everywhere, by FORCE_COLOR
            force_jupyter=False,  # ... and rich would display each line by itself
        )
        width = min(self._terminal.width, WIDTH) if self._terminal.is_terminal else WIDTH
        self._frame = Frame(width, getattr(self._stream, "encoding", None))

    def finding(self, finding: Finding) -> None:
        if self.quiet:
            return
        finding = harmless(finding)
        # The empty line also ends the line that a progress bar has left open.
        self._print([Text(), *self._head(finding), *self._body(finding)])

    def unsaid(self, findings: Iterable[Finding]) -> None:
        """Of all ranks' findings those that the first rank, which speaks, has not seen."""
        for finding in findings:
            if 0 not in finding.evidence.get("ranks", (0,)):
                self.finding(finding)

    def summary(
        self,
        findings: Sequence[Finding],
        steps: int,
        journal: Path | None,
        stopped: bool,
        *,
        children: int = 0,  # processes that were watched besides the script's own,
        here: bool = True,  # ... and whether that one trained
        ended: int = 0,  # of those processes, how many it stopped
        trials: Path | None = None,  # their folder, where they are worth a comparison
        reason: str = "",  # why no step was seen
        missed: Sequence[str] = (),  # what was not looked at
        silenced: int = 0,  # findings that settings or comments silence
        left_out: Sequence[str] = (),  # samples that the run was not given
        rescue: tuple[str, str]
        | None = None,  # a sentence and a command: how to go on without broken samples
    ) -> None:
        """One line about the run, one for all that was not looked at, and one about where to read on."""
        if self.quiet:
            return
        worst = min((f.severity for f in findings), key=list(Severity).index, default=None)
        if worst is None and (missed or not steps):
            worst = Severity.WARNING
        said = _verdict(findings, steps, stopped, _places(children, here, ended), reason)
        said += f" ({silenced} silenced)" if silenced else ""
        verdict = Text(said, COLOURS[worst] if worst else "bold")
        gaps = [
            line
            for gap in missed
            for line in self._frame.wrapped(gap, indent="    ", first="  not looked at: ")
        ]
        sentences = [*left_out, *([rescue[0]] if rescue is not None else [])]
        gaps += [line for each in sentences for line in self._frame.wrapped(each, indent="    ", first="  ")]
        if rescue is not None:  # in one piece: it is meant to be copied
            gaps.append(Text(f"    {clean(rescue[1])}", "bold"))
        codes = dict.fromkeys(f.code for f in findings)
        pointers = [f"premortem report {shlex.quote(short(str(journal)))}"] if journal else []
        pointers += [f"premortem sweep {shlex.quote(short(str(trials)))}"] if trials else []
        pointers += [f"premortem explain {' '.join(codes)}"] if codes else []
        more = [Text("  " + clean("; ".join(pointers)), "dim")] if pointers else []
        self._print([Text(), verdict, *gaps, *more])

    def problem(self, sentence: str) -> None:
        """One sentence about premortem itself, while the run goes on."""
        if not self._mute:
            self.refuse(sentence)

    def refuse(self, sentence: str) -> None:
        """Why nothing was run. Shown even when mute: silence would hide it."""
        self._print([Text.assemble(("premortem: ", "bold red"), clean(redaction.redacted(sentence)))])

    def _head(self, finding: Finding) -> Iterator[Text]:
        colour = COLOURS[finding.severity]
        yield Text.assemble(
            (finding.severity.value, colour),
            (f" {clean(finding.code)} {clean(finding.name)}", "bold"),
            # What was seen before the first step has none.
            (f"{f' at step {finding.step}' if finding.step else ''} ({finding.certainty.value})", "dim"),
        )
        yield from self._frame.wrapped(finding.message)

    def _body(self, finding: Finding) -> Iterator[Text]:
        yield from self._frame.labelled("where", _place(finding.where))
        yield from self._code(finding)
        yield from self._frame.labelled("seen", evidence_text(finding.seen))
        yield from self._frame.labelled("why", finding.cause)
        yield from self._frame.labelled("fix", finding.remedy)
        if finding.patch is not None:
            yield from self._frame.labelled("help:", finding.patch.title or "this change:")
            yield from self._frame.changes(finding.patch.diff, CHANGES)
        yield from self._frame.labelled("more", f"premortem explain {finding.code}")

    def _code(self, finding: Finding) -> Iterator[Text]:
        """The line to blame between its neighbours, as far as the source can be read."""
        where = finding.where
        if not where.file or not where.line:
            return
        lines = linecache.getlines(where.file)
        if where.line > len(lines):
            return
        text = redaction.source("".join(lines), where.file)
        source = text.split("\n")
        first, last = max(where.line - CONTEXT, 1), min(where.line + CONTEXT, len(lines))
        shown = {number: source[number - 1] for number in range(first, last + 1)}
        blamed = range(where.line, where.line + 1)
        yield from self._frame.code(
            shown, blamed, marked(finding, text), COLOURS[finding.severity], values(finding, text)
        )

    def _print(self, lines: Iterable[Text]) -> None:
        try:
            with unread():
                for line in lines:
                    # soft_wrap: the lines have the length they should have.
                    self._terminal.print(line, soft_wrap=True)
            self._stream.flush()
        except (OSError, ValueError):
            # The terminal is gone or closed. What was to be printed is in the journal,
            # and the run must not end because its terminal did.
            pass


def harmless(finding: Finding) -> Finding:
    """Without the secrets that a message or its evidence may quote."""
    return Finding.from_json(redaction.record(finding.to_json()))


def _verdict(findings: Sequence[Finding], steps: int, stopped: bool, where: str, reason: str) -> str:
    found = tally(f.severity for f in findings)
    if not steps and not stopped:
        # Not "nothing to report": that would be read as "all is well".
        why = clean(reason or "no optimizer made a step")
        return f"warning: premortem saw no training step: {why}{f' ({found})' if found else ''}"
    did = (
        f"stopped this run after {count(steps, 'step')}"
        if stopped
        else f"watched {count(steps, 'step')}{where}"
    )
    return f"premortem {did}: {found or 'nothing to report'}"


def _places(children: int, here: bool, ended: int) -> str:
    if not children:
        return ""
    told = f" in {'this process and ' if here else ''}{count(children, 'child process', 'child processes')}"
    if not ended:
        return told
    return f"{told} and stopped {'it' if ended == children == 1 else f'{ended:,} of them'}"


def _place(where: Where) -> str:
    inside = f"module `{where.module}`" if where.module else ""
    which = f"parameter `{where.parameter}`" if where.parameter else ""
    return ", ".join(part for part in (where.spot(short), inside, which) if part)


def evidence_text(evidence: Mapping[str, Any]) -> str:
    """`parameters 2, gradient norm 0.4127`"""
    shown = [f"{key.replace('_', ' ')} {_value(value)}" for key, value in evidence.items() if key not in SAID]
    more = len(shown) - EVIDENCE
    return ", ".join(shown[:EVIDENCE] + ([f"and {more} more"] if more > 0 else []))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return "{" + _items([f"{key}: {_value(item)}" for key, item in value.items()]) + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        shown = [_value(item) for item in value]
        return _words(shown) if all(isinstance(item, str) for item in value) else f"[{_items(shown)}]"
    return str(value)


def _words(names: list[str]) -> str:
    """Names, as a sentence lists them: `a, b and c`."""
    more = len(names) - ITEMS
    shown = names[:ITEMS] + ([f"{more} more"] if more > 0 else [])
    return " and ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)


def _items(items: list[str]) -> str:
    more = len(items) - ITEMS
    return ", ".join(items[:ITEMS] + ([f"... {more} more"] if more > 0 else []))
