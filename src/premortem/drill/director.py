"""The launches of a drill: the script alone, watched, and once for each mutant. Nothing of the user's is written."""

import itertools
import math
import os
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from premortem.changes import Change
from premortem.drill.order import Heard, Order
from premortem.drill.scoring import Clean, Score, score, survived
from premortem.program.running import Program
from premortem.scriptrun.run import Plan, Script, ScriptRun
from premortem.terminal.progress import Progress

STEPS = 60
QUICK = 5.0  # seconds: where steps are quick there may be more than STEPS of them, up to here
_LINES = 12


@dataclass(frozen=True, kw_only=True)
class DrillOptions:
    argv: list[str]
    mutants: Sequence[type[Change]]
    steps: int | None = None  # None: STEPS, and more where they are quick; 0: the whole run
    seconds: float = 300.0  # for one launch
    jobs: int = 1
    shown: Progress = field(default_factory=Progress)
    scored: Callable[[Score], None] = lambda _: None  # called for each mutant as soon as it is known


@dataclass
class Drill:
    clean: Clean | None = None
    scores: list[Score] = field(default_factory=list)  # in the order in which they were known
    asked: int = 0  # mutants
    interrupted: bool = False
    problem: str = ""  # why there is nothing to score
    tail: str = ""

    @property
    def effective(self) -> list[Score]:
        return [each for each in self.scores if each.effective]

    @property
    def caught(self) -> list[Score]:
        return [each for each in self.scores if each.outcome == "caught"]


def drill(options: DrillOptions, done: Drill | None = None) -> Drill:
    """Fills `done`; whatever interrupts it leaves what was known until then."""
    done = Drill() if done is None else done
    done.asked = len(options.mutants)
    _Director(options, done).drill()
    return done


class _Director:
    def __init__(self, options: DrillOptions, done: Drill) -> None:
        self.options, self.done = options, done
        script = Script.from_words(options.argv, Path.cwd())
        if not script.module:
            Program(target=script.target).check()
        plan = Plan(play="premortem.drill.mutated_script:play", warm="premortem.drill.mutated_script:warm")
        self.run = ScriptRun(script, plan, environment={"PYTHONHASHSEED": "0"}, lanes=options.jobs)
        self._launches = itertools.count(1)

    def drill(self) -> None:
        with self.run:
            order = self._clean()
            if order is None or self.done.clean is None:
                return
            self.options.shown.say("")
            self.options.shown.count(len(self.options.mutants), "mutants")
            pool = ThreadPoolExecutor(self.options.jobs)
            try:
                waiting = [
                    pool.submit(self._score, cls, order, self.done.clean) for cls in self.options.mutants
                ]
                for future in waiting:
                    future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)
                self.run.cancel()  # where it was interrupted, mutants still run
                pool.shutdown(wait=True)
                names = [cls.name for cls in self.options.mutants]
                self.done.scores.sort(key=lambda each: names.index(each.mutant))

    def _clean(self) -> Order | None:
        """The script as it is, alone and watched. None when there is nothing to drill."""
        self.options.shown.say("the script as it is")
        given = self.options.steps
        steps = STEPS if given is None else given
        order = Order(watched=False, steps=steps, at_least=QUICK if given is None else 0.0)
        alone = self._launch(order)
        self.done.problem = _problem(alone)
        if self.done.problem:
            self.done.tail = alone.tail
            return None
        order = replace(
            order,
            backwards=alone.backwards if alone.cut else 0,
            steps=0,
            saves=alone.saves,
            per_step=math.ceil(alone.backwards / max(1, alone.steps)),
        )
        self.options.shown.say("the script as it is, watched")
        self.done.clean = Clean(alone=alone, watched=self._launch(replace(order, watched=True)))
        return order

    def _score(self, cls: type[Change], order: Order, clean: Clean) -> None:
        self.options.shown.say(cls.name)
        # A run that has lost its way may go on for longer than the clean one, which ended by itself.
        limit = order.backwards or 4 * clean.alone.backwards
        order = replace(order, mutant=cls.name, backwards=limit)
        watched = self._launch(replace(order, watched=True))
        assert cls.harm is not None  # noqa: S101 - only those are chosen
        if cls.harm.kills:
            found = survived(cls.name, cls.harm.needs, self._launch(order), watched)
        else:
            found = score(cls.name, cls.harm.families, cls.harm.needs, clean, watched)
        if self.run.cancelled:
            return
        self.done.scores.append(found)
        self.options.shown.advance()
        self.options.scored(found)

    def _launch(self, order: Order) -> Heard:
        order = replace(order, folder=f"launch-{next(self._launches)}")
        ran = self.run.go(order.to_json(), self.options.seconds)
        facts = [line for line in ran.lines if not {"problem", "failed"} & line.keys()]
        heard = Heard.read(facts, self.run.shared / order.folder / "findings.json")
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
        return "the script did not get far enough in time; see --seconds and --steps"
    if alone.backwards == 0:
        return f"the script made no training step ({alone.ended or 'its process died'})"
    return ""


def _torn(place: str | None) -> bool:
    """No file at this place is not a torn file: a script that looks for it finds that there is none."""
    return place is not None and Path(place).exists() and not zipfile.is_zipfile(place)
