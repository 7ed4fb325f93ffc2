"""`premortem check`: from the words of the command line to the verdict."""

import argparse
import functools
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem import settings
from premortem.command_line import Command, not_over_code
from premortem.convictions.pairs import joined
from premortem.derived.folding import fold
from premortem.errors import PremortemError, UsageError
from premortem.files import private
from premortem.files.findings_file import FindingsFile
from premortem.findings import Finding
from premortem.preflight import conclusion, config, data, environment, page, rehearsal
from premortem.preflight.project import Part, Project, Survey, Tell, own_fault
from premortem.program.running import Program
from premortem.settings import Silence, shown
from premortem.terminal.console import Console
from premortem.terminal.interruption import exit_code
from premortem.terminal.progress import Progress, progress
from premortem.vault import deadline

# In the order of their price: what is found early need not be waited for.
PARTS: tuple[tuple[str, Survey], ...] = (
    ("Environment", environment.survey),
    ("Configuration and code", config.survey),
    ("Data", data.survey),
    ("Rehearsal", rehearsal.survey),
)
REHEARSAL = "Rehearsal"


@dataclass
class Checking:
    """One call of the verb."""

    project: Project
    rehearses: bool = True
    strict: bool = False  # warnings fail it too
    silence: Silence = field(default_factory=Silence)
    silenced: int = 0
    parts: list[Part] = field(default_factory=list)
    started: float = field(default_factory=time.time)
    interrupted: KeyboardInterrupt | None = None

    def run(self, doing: Progress) -> None:
        doing.count(len(PARTS), "parts")
        try:
            for title, survey in PARTS:
                doing.say(title.lower())
                part = self._part(title, survey, functools.partial(_say, doing, title.lower()))
                self.parts.append(part)
                if part.interrupted is not None:
                    raise part.interrupted
                doing.advance()
            self._conclude(doing.say)
        except KeyboardInterrupt as error:
            self.interrupted = error
        self._fold()

    @property
    def done(self) -> int:
        """Parts that were looked at as a whole."""
        return sum(part.interrupted is None for part in self.parts)

    def _conclude(self, tell: Tell) -> None:
        """Not the parts' own business: each of them knows one half."""
        machine, _config, samples, rehearsed = self.parts
        try:
            conclusion.conclude(self.project, machine, samples, rehearsed, tell)
        except Exception as error:  # noqa: BLE001 - likewise: the page is worth more than this
            rehearsed.facts.append(("not judged", f"the whole run, for {own_fault(error)}"))

    def _part(self, title: str, survey: Survey, tell: Tell) -> Part:
        if title == REHEARSAL and not self.rehearses:
            return Part(title=title, skipped="left out with --no-rehearsal")
        try:
            return survey(self.project, tell)
        except PremortemError as error:
            return Part(title=title, skipped=str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours must not take the other parts with it
            return Part(title=title, skipped=f"could not be looked at, for {own_fault(error)}")

    def _fold(self) -> None:
        """One root cause, one finding, whichever part saw it."""
        from premortem import catalog  # which lists the checks

        cards = {
            entry.card.code: entry.card for entry in catalog.entries()
        }  # of detectors too: the rehearsal has theirs
        for part in self.parts:
            part.findings = list(map(self.silence.apply, part.findings))
        for part, findings in zip(
            self.parts, joined([part.findings for part in self.parts], cards), strict=True
        ):
            part.findings = list(map(self.silence.apply, findings))  # some have moved to lint's line
        folded = fold(self.findings, cards)
        kept = {_key(finding): finding for finding in shown(folded)}
        self.silenced = len(folded) - len(kept) + sum(part.silenced for part in self.parts)
        for part in self.parts:
            part.findings = [kept.pop(_key(one)) for one in part.findings if _key(one) in kept]

    @property
    def findings(self) -> list[Finding]:
        return [finding for part in self.parts for finding in part.findings]

    @property
    def exit_code(self) -> int:
        if self.interrupted is not None:
            return exit_code(self.interrupted)
        failing = {page.BROKEN, page.DOUBTFUL} if self.strict else {page.BROKEN}
        return int(page.verdict(self.parts) in failing)

    @property
    def start_up(self) -> float:
        """Seconds that the script took for its own start, in all launches together."""
        told = self.parts[-1].record if self.parts else {}
        return float(told.get("launches", 0) * told.get("start_up_seconds", 0.0))

    @property
    def seconds(self) -> float:
        return time.time() - self.started

    def record(self) -> dict[str, Any]:
        """The "run" of FILE.json."""
        return {
            "verb": "check",
            "argv": self.project.command if self.project.target else [],
            "seconds": round(self.seconds, 3),
            "script_start_up_seconds": round(self.start_up, 3),
            "exit_code": self.exit_code,
            "reason": "interrupted" if self.interrupted else "finished",
            "silenced": self.silenced,
        }


def _say(doing: Progress, part: str, text: str) -> None:
    doing.say(f"{part}: {text}")


def _key(finding: Finding) -> tuple[str, str, str]:
    return finding.code, str(finding.where), finding.message


def run(options: argparse.Namespace, command: Command) -> int:
    asked = settings.shared(command.folder, options.select, options.ignore)
    if asked.words():
        from premortem import catalog

        catalog.check(asked)
    checking = Checking(
        project(options, command),
        rehearses=not options.no_rehearsal,
        strict=options.strict,
        silence=Silence(asked),
    )
    with progress("check", quiet=options.quiet) as doing:
        checking.run(doing)
    if options.findings is not None:
        FindingsFile(options.findings, Console().problem).write(checking.record(), checking.findings)
    if options.json is not None:
        stopped = checking.interrupted is not None
        _write(
            options.json,
            page.record(checking.project, checking.parts, checking.record(), interrupted=stopped),
        )
    if not options.quiet:
        done = f"{checking.done} of {len(PARTS)} parts" if checking.interrupted is not None else ""
        page.show(
            checking.project,
            checking.parts,
            checking.seconds,
            checking.start_up,
            interrupted=done,
            silenced=checking.silenced,
        )
    return checking.exit_code


def project(options: argparse.Namespace, command: Command) -> Project:
    """Raises UsageError for what cannot be meant."""
    folders = [Path(folder) for folder in options.data or ()]
    if command.module or not folders:
        command.needs_a_script("check", ", or premortem check --data DIR")
    if command.target:
        Program(target=command.target, module=command.module, argv=command.argv).check()
    for folder in folders:
        if not folder.exists():
            raise UsageError(f"`--data {folder}`: there is no such folder")
    if options.steps < 1:
        raise UsageError("`--steps` counts optimizer steps: at least 1")
    not_over_code(options, "findings", "json")
    return Project(
        folder=_here(),
        target=command.target,
        module=command.module,
        argv=command.argv,
        data=folders,
        steps=options.steps,
        seconds=options.seconds,
        deadline=_left(options.deadline),
        quota=_quota(options.quota),
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current directory no longer exists") from None


def _left(text: str | None) -> float | None:
    return None if text is None else deadline.parse(text).at - time.time()


def _quota(text: str | None) -> float | None:
    if text is None:
        return None
    found = deadline.span(text.strip().lower())
    if not found:
        raise UsageError(f"`--quota {text}` is not a span of time; write it as `30h` or `1h30m`")
    return found


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        private.write_text(file, text)
    except OSError as error:
        raise PremortemError(f"`--json {file}` cannot be written ({error.strerror})") from None
