"""Runs the script past a save, starts it again from there in a fresh process, and compares the steps bit for bit.

whole run      … step k, save │ k+1 … k+n      the folder is kept as it is at the bar
resumed run    in that folder │ k+1 … k+n      the same steps, by the script's own resume
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from premortem.program.running import Program
from premortem.proof.compare import Comparison, compare
from premortem.proof.entrances import Entrance, entrances
from premortem.proof.order import RESUMED, SNAPSHOT, WHOLE, Heard, Order
from premortem.scriptrun.run import Plan, Script, ScriptRun
from premortem.scriptrun.sandbox.layers import kept

_SUFFIXES = frozenset({".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".tar"})


@dataclass(frozen=True, kw_only=True)
class ProofOptions:
    argv: list[str]  # as `python` would be given it: a script or -m module, and its arguments
    steps: int = 5
    seconds: float = 300.0  # for one launch
    resume_with: str | None = None  # words that make the script resume; {} stands for the file
    tell: Callable[[str], None] = lambda _: None
    folder: Path | None = None  # the working folder, where it is not this process's
    cut: int | None = None  # steps of each pass over the data, after which the pass ends


@dataclass
class Proof:
    comparison: Comparison = field(default_factory=Comparison)
    saved: str = ""  # the file
    step: int = 0  # at which it was written
    entrance: str = ""  # what made the script resume
    tried: list[str] = field(default_factory=list)
    problem: str = ""  # why there is nothing to compare
    repeats: bool | None = None  # whether two fresh runs are the same, when that was asked
    tail: str = ""  # the last lines that the script printed, when it went wrong
    sandbox: dict[str, Any] = field(default_factory=dict)
    launches: int = 0

    @property
    def exact(self) -> bool:
        return not self.problem and self.comparison.exact


def prove(options: ProofOptions) -> Proof:
    return _Director(options).prove()


class _Director:
    def __init__(self, options: ProofOptions) -> None:
        self.options = options
        self.cwd = Path(os.path.realpath(options.folder or Path.cwd()))
        self.script = Script.from_words(options.argv, self.cwd)
        self.source = None if self.script.module else self.cwd / self.script.target
        if self.source is not None:
            Program(target=str(self.source)).check()

    def prove(self) -> Proof:
        with ScriptRun(self.script, Plan(play="premortem.proof.compared_script:play")) as self.run:
            self.snapshot = self.run.shared / SNAPSHOT
            return self._prove()

    def _prove(self) -> Proof:
        proof = self.proof = Proof()
        self.options.tell("running the script past a save of its own")
        whole = self._whole()
        proof.sandbox = whole.sandbox
        if whole.moment is not None:  # what was saved later was not there to resume from
            whole.saved = [save for save in whole.saved if save["step"] <= whole.moment["step"]]
        if whole.saved:
            proof.step = whole.saved[-1]["step"]
            proof.saved = whole.saved[-1]["path"] or "a checkpoint"
        if whole.moment is None or not whole.stepped:
            proof.problem, proof.tail = self._no_save(whole), whole.tail
            return proof
        resumed = self._resume(whole, proof)
        if resumed is None:
            return proof
        proof.comparison = compare(whole, resumed)
        if not proof.comparison.lost and not proof.comparison.exact:
            self.options.tell(
                "no state is lost that premortem can name; checking whether two fresh runs agree"
            )
            proof.repeats = self._repeats(whole)
        return proof

    def _no_save(self, whole: Heard) -> str:
        if whole.faults:
            return f"premortem itself failed in the script's process ({whole.faults[0]})"
        how = f" ({whole.ended})" if whole.ended else ""
        if whole.saved:
            return f"the script made no step after its first save{how}: give it arguments with which it trains on"
        if whole.first is None:
            return f"the script made no training step{how}"
        return f"the script saved nothing{how}: there is nothing to resume from"

    # -- launches -------------------------------------------------------------------------

    def _whole(self) -> Heard:
        shutil.rmtree(self.snapshot, ignore_errors=True)
        return self._launch(WHOLE, Entrance())

    def _resume(self, whole: Heard, proof: Proof) -> Heard | None:
        for entrance in self._entrances(whole):
            proof.tried.append(str(entrance))
            self.options.tell(f"resuming in a fresh process: {entrance}")
            heard = self._launch(RESUMED, entrance)
            if heard.moment is not None and heard.stepped:
                proof.entrance, proof.problem, proof.tail = str(entrance), "", ""
                return heard
            if heard.loaded and not proof.problem:  # it took the word, but wanted something else: a folder?
                how = heard.ended or "it was stopped"
                proof.problem = f"the script read its checkpoint ({entrance}) and made no step: {how}"
                proof.tail = heard.tail
        proof.problem = proof.problem or (
            "the script did not go on from its checkpoint; tried: " + "; ".join(proof.tried) + ". "
            'If it takes other words, give them: `premortem ckpt prove --resume-with "--from {}" SCRIPT`'
        )
        return None

    def _entrances(self, whole: Heard) -> list[Entrance]:
        paths = self._paths(whole)
        if self.options.resume_with is not None:
            words = self.options.resume_with.split()
            return [Entrance([word.replace("{}", paths[0]) for word in words])]
        return entrances(self.source, whole.options, paths, self.options.argv)

    def _paths(self, whole: Heard) -> list[str]:
        """What a script may be given to go on from: the files of the last save, and their folder."""
        files = list(dict.fromkeys(s["path"] for s in reversed(whole.saved) if s["path"]))
        if not files:
            files = [self._shown(path) for path in kept(self.snapshot) if Path(path).suffix in _SUFFIXES]
        folder = str(Path(files[0]).parent) if files else "."
        return [*files[:2], *([folder] if folder != "." else [])]

    def _repeats(self, whole: Heard) -> bool:
        shutil.rmtree(self.snapshot, ignore_errors=True)
        again = self._launch(WHOLE, Entrance())
        return bool(again.stepped) and again.stepped[0] == whole.stepped[0]

    def _shown(self, path: str) -> str:
        """As a person would name it, in the script's folder."""
        return os.path.relpath(path, self.cwd) if Path(path).is_relative_to(self.cwd) else path

    def _launch(self, mode: str, entrance: Entrance) -> Heard:
        self.proof.launches += 1
        order = Order(mode=mode, steps=self.options.steps, cut=self.options.cut)
        ran = self.run.go(
            order.to_json(),
            self.options.seconds,
            words=entrance.words,
            environment=entrance.environment,
        )
        heard = Heard.read([line for line in ran.lines if not {"problem", "failed"} & line.keys()])
        heard.ended = heard.ended or ran.last("problem") or ""
        if failed := ran.last("failed"):
            heard.ended = f"the proof itself failed ({failed})"
        if ran.late:
            heard.ended = f"it took longer than {self.options.seconds:g} s, see --seconds"
        heard.tail, heard.sandbox = ran.tail(12), ran.guarantee.to_json()
        return heard
