"""Starts the script in a copy of its folder, and reads what the rehearsal told.

watched      always; once more without torch.compile where that is what fails
unwatched    when the watched launch was over before its loop could go on unwatched, and starting is cheap
resumed      a save of its own, and a fresh process that goes on from it (premortem.proof)
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from premortem import private, untrusted
from premortem.children import run_child
from premortem.findings import Finding
from premortem.plain import exact
from premortem.program import Program
from premortem.proof.overlay import spread
from premortem.proof.prove import Proof, ProofOptions, prove
from premortem.rehearsal.facts import UNWATCHED, WATCHED, Rehearsed

_LINE = re.compile(r'File "([^"\n]+)", line (\d+)')
_CHEAP = 25.0  # seconds until the asked steps were made: then it can be started again


@dataclass(frozen=True, kw_only=True)
class RehearsalOptions:
    folder: Path
    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    steps: int = 5
    seconds: float = 300.0
    tell: Callable[[str], None] = lambda _: None


@dataclass
class Outcome:
    facts: Rehearsed
    findings: list[Finding] = field(default_factory=list)
    proof: Proof | None = None
    no_proof: str = ""  # why there is none


def rehearse(options: RehearsalOptions) -> Outcome:
    """Raises UsageError when there is no such script."""
    if not options.module:
        Program(target=str(options.folder / options.target)).check()
    with tempfile.TemporaryDirectory(prefix="premortem-rehearsal-") as folder:
        return _Director(options, Path(os.path.realpath(folder))).rehearse()


class _Director:
    def __init__(self, options: RehearsalOptions, scratch: Path) -> None:
        self.options = options
        self.scratch = scratch
        self.folder = Path(os.path.realpath(options.folder))
        self.target = options.target
        self._environment: dict[str, str] = {}
        script = Path(os.path.normpath(self.folder / self.target))
        if not options.module and not script.is_relative_to(self.folder):
            self.target = os.path.realpath(script)  # it is not in the copy of this folder

    def rehearse(self) -> Outcome:
        tell = self.options.tell
        tell(f"rehearsal: {self.options.steps} steps of the script, an evaluation and a save")
        outcome = Outcome(self._launch(WATCHED), self._findings())
        if outcome.facts.ended == "crashed" and outcome.facts.compiling:
            outcome = self._uncompiled(outcome)
        facts = outcome.facts
        if facts.ended == "crashed" and facts.cut:
            tell("the script ended after its passes were cut short; once more with whole ones")
            whole = self._launch(WATCHED, cut=False)
            outcome = Outcome(whole, self._findings())
            facts = outcome.facts
        if (
            facts.steps
            and facts.split is None
            and facts.ended not in {"crashed", "late"}
            and facts.to_steps < _CHEAP
        ):
            tell("the same loop unwatched: times, what is in force, one batch again and again")
            _add(facts, self._launch(UNWATCHED))
        self._prove(outcome)
        return outcome

    def _uncompiled(self, compiled: Outcome) -> Outcome:
        """Whether it is the compiler alone that fails, and what is to be said of the rest."""
        self.options.tell("torch.compile fails on the script; once more without it")
        self._environment = {"TORCHDYNAMO_DISABLE": "1"}
        plain = Outcome(self._launch(WATCHED), self._findings())
        failed = compiled.facts
        if plain.facts.steps <= failed.steps:
            self._environment = {}
            return compiled
        plain.facts.compile_error = f"{failed.error}: {failed.message}"
        plain.facts.compile_at = _read_last(failed.message) or failed.where
        return plain

    def _prove(self, outcome: Outcome) -> None:
        facts = outcome.facts
        if not facts.steps or facts.ended == "crashed":
            outcome.no_proof = "the rehearsal did not get that far"
        elif facts.compile_error:
            outcome.no_proof = "as it is, the script does not train: torch.compile fails"
        elif not facts.saved:
            outcome.no_proof = "no save was seen"
        elif not facts.resumes:
            outcome.no_proof = "the script has no way to go on from a checkpoint"
        else:
            words = [*(["-m"] if self.options.module else []), self.target, *self.options.argv]
            outcome.proof = prove(
                ProofOptions(
                    argv=words,
                    steps=3,
                    seconds=min(self.options.seconds, 60.0 + 2 * facts.to_steps),
                    tell=self.options.tell,
                    folder=self.folder,
                    cut=self.options.steps,
                )
            )

    def _launch(self, mode: str, *, cut: bool = True) -> Rehearsed:
        options, work = self.options, self.scratch / "work"
        for name in ("work", "written"):
            shutil.rmtree(self.scratch / name, ignore_errors=True)
        spread(self.folder, work)
        result, paper = self.scratch / f"{mode}.json", self.scratch / "order.json"
        result.unlink(missing_ok=True)
        order = {
            "mode": mode,
            "target": self.target,
            "module": options.module,
            "argv": list(options.argv),
            "steps": options.steps,
            "cut": cut,
            "scratch": str(self.scratch),
            "result": str(result),
            "findings": str(self.scratch / "findings.json"),
            "journal": str(self.scratch / f"journal-{mode}-{cut}"),
        }
        private.write_text(paper, exact(order))
        left = run_child(
            "premortem.rehearsal.child",
            [str(paper)],
            scratch=self.scratch,
            seconds=options.seconds,
            cwd=work,
            environment=self._environment,
        )
        facts = self._read(result)
        facts.tail, facts.late = self._named(left.tail(12)), left.late
        if left.late:
            facts.ended = "late"
        elif left.code and not facts.ended:
            facts.ended, facts.code = "died", left.code
        return facts

    def _read(self, result: Path) -> Rehearsed:
        try:
            return Rehearsed.from_json(untrusted.loads(self._named(untrusted.read_text(result))))
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            return Rehearsed(asked=self.options.steps)

    def _findings(self) -> list[Finding]:
        """As the user knows the paths: without the scratch folder."""
        try:
            text = untrusted.read_text(self.scratch / "findings.json")
            return [Finding.from_json(each) for each in untrusted.loads(self._named(text))["findings"]]
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            return []

    def _named(self, text: str) -> str:
        return text.replace(str(self.scratch / "work"), str(self.folder))


def _read_last(message: str) -> tuple[str, int] | None:
    """The line that the compiler was reading: it names the user's code at the end of its message."""
    lines = _LINE.findall(message.partition("from user code:")[2])
    return (lines[-1][0], int(lines[-1][1])) if lines else None


def _add(facts: Rehearsed, unwatched: Rehearsed) -> None:
    """What only the unwatched launch can know."""
    facts.split = unwatched.split
    facts.overfit = unwatched.overfit
    facts.reads = facts.reads or unwatched.reads
    seen = facts.force
    facts.force = unwatched.force if unwatched.force.looked or not seen.looked else seen
