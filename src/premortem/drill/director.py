"""The launches of a drill: the script alone, watched, and once for each mutant. Nothing of the user's is written."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from premortem.drill.mutants import Mutant
from premortem.drill.order import Heard, Order
from premortem.drill.scoring import Clean, Score, score, survived
from premortem.program.running import Program
from premortem.scriptrun.run import Plan, Script, ScriptRun

STEPS = 60
QUICK = 5.0  # seconds: where steps are quick there may be more than STEPS of them, up to here
_LINES = 12


@dataclass(frozen=True, kw_only=True)
class DrillOptions:
    argv: list[str]
    mutants: Sequence[type[Mutant]]
    steps: int | None = None  # None: STEPS, and more where they are quick; 0: the whole run
    seconds: float = 300.0  # for one launch
    jobs: int = 1
    tell: Callable[[str], None] = lambda _: None


@dataclass
class Drill:
    clean: Clean | None = None
    scores: list[Score] = field(default_factory=list)
    problem: str = ""  # why there is nothing to score
    tail: str = ""

    @property
    def effective(self) -> list[Score]:
        return [each for each in self.scores if each.effective]

    @property
    def caught(self) -> list[Score]:
        return [each for each in self.scores if each.outcome == "caught"]


def drill(options: DrillOptions) -> Drill:
    return _Director(options).drill()


class _Director:
    def __init__(self, options: DrillOptions) -> None:
        self.options = options
        self.script = Script.from_words(options.argv, Path.cwd())
        if not self.script.module:
            Program(target=self.script.target).check()

    def drill(self) -> Drill:
        self.options.tell("running the script as it is")
        given = self.options.steps
        steps = STEPS if given is None else given
        order = Order(watched=False, steps=steps, at_least=QUICK if given is None else 0.0)
        alone = self._launch(order)
        problem = _problem(alone)
        if problem:
            return Drill(problem=problem, tail=alone.tail)
        order = replace(
            order,
            backwards=alone.backwards if alone.cut else 0,
            steps=0,
            saves=alone.saves,
            per_step=math.ceil(alone.backwards / max(1, alone.steps)),
        )
        self.options.tell("running it as it is, watched")
        clean = Clean(alone=alone, watched=self._launch(replace(order, watched=True)))
        done = Drill(clean=clean)
        with ThreadPoolExecutor(self.options.jobs) as pool:
            done.scores = list(pool.map(lambda cls: self._score(cls, order, clean), self.options.mutants))
        return done

    def _score(self, cls: type[Mutant], order: Order, clean: Clean) -> Score:
        self.options.tell(f"{cls.name}: {cls.__doc__ or ''}".partition("\n")[0])
        # A run that has lost its way may go on for longer than the clean one, which ended by itself.
        limit = order.backwards or 4 * clean.alone.backwards
        order = replace(order, mutant=cls.name, backwards=limit)
        watched = self._launch(replace(order, watched=True))
        if not cls.kills:
            return score(cls.name, cls.families, cls.needs, clean, watched)
        alone = self._launch(order)
        return survived(cls.name, cls.needs, alone, watched)

    def _launch(self, order: Order) -> Heard:
        plan = Plan(play="premortem.drill.mutated_script:play")
        with ScriptRun(self.script, plan, environment={"PYTHONHASHSEED": "0"}) as run:
            ran = run.go(order.to_json(), self.options.seconds)
            facts = [line for line in ran.lines if not {"problem", "failed"} & line.keys()]
            heard = Heard.read(facts, run.shared / "findings.json")
            if ran.code < 0:  # what was being written when it died, as it lies there now
                heard.damaged = [
                    path for path in heard.damaged if _torn(ran.layers.place(os.path.realpath(path)))
                ]
        heard.ended = heard.ended or ran.last("problem") or ""
        if failed := ran.last("failed"):
            heard.ended = f"the drill itself failed ({failed})"
        heard.code, heard.late, heard.tail = ran.code, ran.late, ran.tail(_LINES)
        heard.sandbox = ran.guarantee.to_json()
        return heard


def _problem(alone: Heard) -> str:
    if alone.late:
        return "the script did not come far enough in time, see --seconds and --steps"
    if alone.backwards == 0:
        return f"the script made no training step ({alone.ended or 'its process died'})"
    return ""


def _torn(place: str | None) -> bool:
    """Nothing at all at this place is no torn file: whoever looks for one finds that there is none."""
    return place is not None and Path(place).exists() and not zipfile.is_zipfile(place)
