"""Starts the script in a sandbox, and reads the report of the rehearsal.

watched      always; once more without torch.compile where that is what fails
unwatched    when the watched launch was over before its loop could go on unwatched, and starting is cheap
resumed      a save of its own, and a fresh process that goes on from it (premortem.proof)
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.files import untrusted
from premortem.findings import Finding
from premortem.program.running import Program
from premortem.proof.prove import Proof, ProofOptions, prove
from premortem.rehearsal.observations import UNWATCHED, WATCHED, Rehearsed
from premortem.scriptrun.run import Plan, Ran, Script, ScriptRun
from premortem.scriptrun.sandbox import is_refusal

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
    launches: int = 0  # how often the script was started
    interrupted: KeyboardInterrupt | None = None


def rehearse(options: RehearsalOptions) -> Outcome:
    """Raises UsageError when there is no such script."""
    if not options.module:
        Program(target=str(options.folder / options.target)).check()
    return _Director(options).rehearse()


class _Director:
    def __init__(self, options: RehearsalOptions) -> None:
        self.options = options
        self.folder = Path(os.path.realpath(options.folder))
        self._environment: dict[str, str] = {}
        self._launched: list[Finding] = []  # what the last launch has found
        self._last: dict[str, Any] | None = None  # ... and the facts that it has reported so far
        self._launches = 0
        script = Script(
            target=options.target, module=options.module, argv=list(options.argv), cwd=self.folder
        )
        self._run = ScriptRun(script, Plan(play="premortem.rehearsal.checked_script:play"))

    def rehearse(self) -> Outcome:
        with self._run:
            self.options.tell(f"{self.options.steps} steps of the script, an evaluation and a save")
            try:
                outcome = Outcome(self._launch(WATCHED), self._launched)
            except KeyboardInterrupt as error:
                facts = Rehearsed.from_json(self._last) if self._last is not None else Rehearsed()
                facts.ended = "interrupted"
                outcome = Outcome(facts, self._launched, no_proof="it was interrupted", interrupted=error)
                outcome.launches = self._launches
                return outcome
            try:
                outcome = self._more(outcome)
            except KeyboardInterrupt as error:
                outcome.interrupted, outcome.no_proof = error, "it was interrupted"
        outcome.launches = self._launches + (outcome.proof.launches if outcome.proof is not None else 0)
        return outcome

    def _more(self, outcome: Outcome) -> Outcome:
        """What the first launch could not show."""
        tell = self.options.tell
        if outcome.facts.ended == "crashed" and outcome.facts.compiling:
            outcome = self._uncompiled(outcome)
        facts = outcome.facts
        if facts.ended == "crashed" and facts.cut:
            tell("the script ended because its passes were cut short; rehearsing again with whole ones")
            whole = self._launch(WATCHED, cut=False)
            outcome = Outcome(whole, self._launched)
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
        """Whether it is the compiler alone that fails, and what the script does without it."""
        self.options.tell("torch.compile fails on the script; rehearsing again without it")
        self._environment = {"TORCHDYNAMO_DISABLE": "1"}
        plain = Outcome(self._launch(WATCHED), self._launched)
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
            words = [*(["-m"] if self.options.module else []), self.options.target, *self.options.argv]
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
        options = self.options
        self._launches += 1
        self._last = None
        folder = f"launch-{self._launches}"
        order = {"mode": mode, "steps": options.steps, "cut": cut, "folder": folder}
        try:
            ran = self._run.go(order, options.seconds, environment=self._environment, heard=self._heard)
        finally:
            self._launched = _findings(self._run.shared / folder / "findings.json")
        return self._read(ran)

    def _heard(self, line: dict[str, Any]) -> None:
        if "facts" in line:
            first, self._last = self._last is None, line["facts"]
            made = self._last["steps"]
            if first or made <= self.options.steps:
                self.options.tell(
                    f"{made} of {self.options.steps} steps of the script, an evaluation and a save"
                )

    def _read(self, ran: Ran) -> Rehearsed:
        record = ran.last("facts")
        facts = Rehearsed.from_json(record) if record is not None else Rehearsed(asked=self.options.steps)
        facts.sandbox = ran.guarantee.to_json()
        facts.tail, facts.late = ran.tail(12), ran.late
        if problem := ran.last("problem"):
            facts.ended, facts.message = "exited", problem
        elif failed := ran.last("failed"):
            facts.faults.append(f"the rehearsal itself failed ({failed})")
        if ran.late:
            facts.ended = "late"
        elif ran.code and not facts.ended:
            facts.ended, facts.code = "died", ran.code
        facts.refused = facts.ended == "crashed" and is_refusal(ran.guarantee.level, facts.message)
        return facts


def _findings(file: Path) -> list[Finding]:
    try:
        found = untrusted.loads(untrusted.read_text(file))["findings"]
        return [Finding.from_json(each) for each in found]
    except (OSError, ValueError, TypeError, AttributeError, LookupError):
        return []


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
