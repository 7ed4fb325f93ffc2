"""The trials of a diagnosis: the script as it is, under several seeds, then with one thing changed at a time.

Nothing of the user's is written. What is found so far stays when it is interrupted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from premortem.amounts import free
from premortem.changes import RunDescription
from premortem.changes.base import Learning
from premortem.program.running import Program
from premortem.scriptrun.run import Plan, Script, ScriptRun
from premortem.settings import Silence
from premortem.terminal.progress import Progress
from premortem.why import cheating, side_by_side, verdict, yardsticks
from premortem.why import order as orders
from premortem.why.forks import Forks
from premortem.why.order import Order, Result
from premortem.why.verdict import FAILED, HELPS, NOTHING, SKIPPED, Row
from premortem.why.yardsticks import Yardstick

FEW = 5  # backward passes: with fewer there is no verdict
_PART = 16  # of the time that one run may take
_LONGER = 2  # times that is the first run, which is watched: some findings need an epoch or two
_PATIENCE = 60.0  # seconds for a script to get to its first step, besides what it was given
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
_SLOW = 2.0  # seconds until the first step, from which a process that waits there pays: it holds the data once more
_CATCHES_UP = 10  # times as many steps: a rate that is wrong by more needs more of them than the script makes
# Steps from which on a rate may be called too low, and an evaluation that has not moved means something: each step moves the
# weights by a thousandth where the rate is a usual one, so that in fewer they have hardly moved. A script that was cut down to see
# whether it runs makes fewer.
_ENOUGH = 100
_VARIES = 0.1  # of the scale: how well it goes depends on the seed
# Parts of the steps, and how far above the run as it is, in parts of the scale, a loss ends a trial there.
_HOPELESS = ((0.25, 0.75), (0.5, 0.5), (0.75, 0.3))


@dataclass(frozen=True)
class Proposal:
    """A change of the source from outside, as whole files, or other words for the script."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    diff: str = ""
    problem: str = ""  # why it cannot be tried
    before: dict[str, str] = field(default_factory=dict)  # the same files as they are


@dataclass(frozen=True, kw_only=True)
class WhyOptions:
    argv: list[str]
    cwd: Path | None = None
    minutes: float = 10.0
    seeds: int = 3
    jobs: int = 2  # trials at the same time, at most
    reported: Sequence[dict[str, Any]] = ()  # findings of an earlier run of it
    proposals: Sequence[Proposal] = ()
    silence: Silence = field(default_factory=Silence)
    shown: Progress = field(default_factory=Progress)
    tell: Callable[[Row, Why], None] = lambda _row, _why: None  # called after each trial


@dataclass
class Why:
    """All that is known so far."""

    problem: str = ""  # why nothing could be tried
    tail: str = ""
    seeds: list[Result] = field(default_factory=list)  # the script as it is
    sticks: list[Yardstick] = field(default_factory=list)
    chance: dict[str, float] = field(default_factory=dict)
    run: RunDescription = field(default_factory=RunDescription)
    learns: bool = True
    diverges: bool = False
    findings: list[dict[str, Any]] = field(default_factory=list)  # of the run as it is, errors and warnings
    silenced: int = 0
    rows: list[Row] = field(default_factory=list)
    verdict: verdict.Verdict | None = None
    seconds: float = 0.0
    interrupted: bool = False
    to_the_end: bool = False  # the script ends by itself, and these steps are no small part of all
    note: str = ""  # of the sandbox
    unlike: str = ""  # what differs between two runs that are the same: it cannot be seeded
    patch: dict[str, Any] | None = None

    @property
    def first(self) -> Result:
        return self.seeds[0]


class Director:
    def __init__(self, options: WhyOptions, done: Why) -> None:
        self.options, self.done = options, done
        script = Script.from_words(options.argv, options.cwd or Path.cwd())
        if not script.module:
            Program(target=script.target).check()
        plan = Plan(play="premortem.why.tried_script:play", warm="premortem.why.tried_script:warm")
        self.run = ScriptRun(script, plan, environment=_ENVIRONMENT, lanes=options.jobs + options.seeds)
        self.forks: Forks | None = None
        self.jobs = options.jobs
        self.began = time.monotonic()
        self.total = 60 * options.minutes

    def close(self) -> None:
        """All processes end."""
        if self.forks is not None:
            self.forks.close()
        self.run.close()

    @property
    def spent(self) -> float:
        return time.monotonic() - self.began

    def as_it_is(self) -> bool:
        """The script under several seeds; whether there is something to compare with."""
        done, options = self.done, self.options
        options.shown.say("the script as it is, watched")
        first = self.launch(
            Order(
                watched=True,
                seconds=_LONGER * self.total / _PART,
                folder="as-it-is",
                rows=bool(options.proposals),
            )
        )
        done.problem = _problem(first)
        if done.problem:
            done.tail = first.tail
            return False
        self.jobs = side_by_side.fitting(options.jobs, first, free())
        long = first.step_seconds * first.backwards * _PART / self.total
        done.to_the_end = not first.cut and long <= _CATCHES_UP
        if long > 1:
            first = yardsticks.cut(first, max(FEW, int(first.backwards / long)))
        done.seeds.append(first)
        known = {name: value for name, value in first.facts.items() if hasattr(RunDescription, name)}
        known["optimizers"] = tuple(known.get("optimizers", ()))
        if first.start_seconds > _SLOW:
            self.forks = Forks(self.run, first, RunDescription(**known))
        others = [Order(seed=number, backwards=first.backwards) for number in range(1, options.seeds)]
        done.seeds += [each for each in self.together(others) if not each.failed]
        done.sticks = yardsticks.yardsticks(first)
        done.chance = yardsticks.noise(done.sticks, done.seeds)
        done.learns = yardsticks.learns(done.sticks, done.chance, done.seeds)
        done.diverges = any(map(yardsticks.diverges, done.seeds))
        heard, done.silenced = options.silence.without(first.findings)
        loud = [each for each in heard if each["severity"] in {"error", "warning"}]
        done.findings = sorted(loud, key=lambda each: each["severity"] != "error")
        heart = done.learns and first.moves >= _ENOUGH and yardsticks.by_heart(done.sticks, done.seeds)
        varies = any(done.chance[stick.name] > _VARIES * stick.scale for stick in done.sticks)
        known["warming"] = bool(known.get("warming")) and not done.to_the_end
        known["splits"] = bool(known.get("splits")) and (varies or not done.learns)
        done.run = replace(
            RunDescription(), **known, stuck=not done.learns, by_heart=heart, diverges=done.diverges
        )
        return True

    def gain_again(self, row: Row, as_is: Result, result: Result) -> float:
        gains = self._compared(row, as_is, result)
        return next((each.size for each in gains if each.yardstick == row.gain.yardstick), 0.0)

    def best(self, row: Row, as_is: Result, result: Result) -> float:
        """The largest gain of a trial that was shorter, as was the run as it is that it is compared with."""
        gains = self._compared(row, as_is, result)
        return gains[0].size if gains else 0.0

    def _compared(self, row: Row, as_is: Result, result: Result) -> list[yardsticks.Gain]:
        learning, done = row.learning, self.done
        same = learning.same_loss if learning is not None else cheating.same_loss(as_is, result)
        evaluated = learning is not None and (
            learning.evaluated
            or self._by_evaluation(learning)
            or (done.learns and eases(learning) and any(stick.evaluated for stick in done.sticks))
        )
        return yardsticks.compare(
            done.sticks, done.chance, as_is, result, same_loss=same, evaluated=evaluated
        )

    def _by_evaluation(self, learning: Learning) -> bool:
        """It asks whether anything of what is learned shows in evaluations."""
        return learning.where_by_heart and self.done.run.by_heart

    # -- one trial ------------------------------------------------------------------------

    def order_of(self, row: Row, seed: int, backwards: int = 0) -> Order:
        """`backwards`: of a shorter trial."""
        first, done = self.done.first, self.done
        order = Order(
            change=row.change, seed=seed, backwards=backwards or first.backwards, run=orders.plain(done.run)
        )
        loss = next((stick for stick in done.sticks if stick.name == "loss"), None)
        learning = row.learning
        if loss is None or learning is None or not learning.same_loss or done.diverges:
            return order
        if self._by_evaluation(learning):
            return order  # how it trains says nothing here
        return replace(order, hopeless=_hopeless(loss, done.seeds))

    def judge(self, row: Row, result: Result) -> None:
        done = self.done
        row.seconds = result.seconds
        row.few = bool(row.learning and row.learning.slow and done.first.moves < _ENOUGH)
        lines = yardsticks.loss_lines(done.first)
        row.curve = next((result.losses[line] for line in lines if line in result.losses), [])
        if result.failed:
            row.verdict, row.why = FAILED, result.ended or "it did not end in time"
            return
        if row.question == "update" and row.learning is not None:  # acts after the first loss
            done.unlike = done.unlike or yardsticks.unlike(done.first, result)
        verdict.judge(row, self._compared(row, done.first, result))
        if row.learning is None and (how := cheating.cheats(done.first, result)):
            row.verdict, row.why = NOTHING, f"cheats: {how}"
        elif row.learning is None and cheating.only_prints(done.first, result):
            row.verdict = NOTHING
            row.why = (
                "the model learns and answers as before, number for number: only what is printed can differ"
            )
        elif row.learning is None and not cheating.same_loss(done.first, result):
            row.why = "the loss is another one from the first step on: it was not compared"
        elif result.hopeless:
            row.why = "much worse on the way: ended there"
        elif row.change and not result.touched and row.learning is not None:
            row.verdict, row.why = SKIPPED, "it changed nothing here"
        elif row.learning is not None and row.learning.same_start:
            row.why = yardsticks.other_start(done.first, result)

    def propose(self, row: Row, proposal: Proposal) -> None:
        """A fix from outside, under all seeds at once."""
        done = self.done
        asked = [
            Order(seed=number, backwards=done.first.backwards, files=proposal.files, rows=True)
            for number in range(len(done.seeds))
        ]
        results = self.together(asked, words=proposal.words)
        self.judge(row, results[0])
        if row.verdict != FAILED:
            row.again = [
                self.gain_again(row, as_is, result)
                for as_is, result in zip(done.seeds[1:], results[1:], strict=True)
            ]
            if row.verdict == HELPS and not row.repeated:
                row.verdict, row.why = NOTHING, verdict.NOT_AGAIN

    def together(self, asked: Sequence[Order], words: list[str] | None = None) -> list[Result]:
        if not asked:
            return []
        pool = ThreadPoolExecutor(self.jobs)
        try:
            waiting = [pool.submit(self.launch, each, words) for each in asked]
            return [future.result() for future in waiting]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def launch(self, order: Order, words: list[str] | None = None) -> Result:
        name = order.change or ("with other sources" if order.files or words else "the script as it is")
        self.options.shown.say(f"{name}, seed {order.seed}" if order.seed else name)
        limit = 4 * self.total / _PART + _PATIENCE
        forked = self.forks.launch(order, limit) if self.forks is not None and not words else None
        if forked is not None:
            self.options.shown.say("")
            return self._as_it_breaks(order, forked)
        ran = self.run.go(order.to_json(), limit, words=words)
        result = orders.result_of(ran.lines, ran.printed, late=ran.late, seconds=ran.seconds)
        self.done.note = ran.guarantee.sentence
        self.options.shown.say("")
        return self._as_it_breaks(order, result)

    def _as_it_breaks(self, order: Order, result: Result) -> Result:
        """Where the script as it is fails after its training (a file of the best weights that was never written), a trial that
        has made as many steps before it fails too has measured what was asked."""
        if self.done.seeds and self.done.first.failed and not result.ended.startswith(orders.OUR_PROBLEM):
            result.enough = order.backwards
        return result


def _hopeless(loss: Yardstick, seeds: Sequence[Result]) -> list[list[float]]:
    """[backward passes, loss]: a trial whose last losses are all above that is far worse than the run as it is was there."""
    found = []
    for part, margin in _HOPELESS:
        at = int(seeds[0].backwards * part)
        worst = max(loss.value(yardsticks.cut(each, at)) for each in seeds)
        if at >= 2 * FEW and math.isfinite(worst):
            found.append([at, worst + margin * loss.scale])
    return found


def _problem(first: Result) -> str:
    if first.late and first.backwards:
        return "a run of the script did not end in time after its first step; give it more with --minutes"
    if first.late:
        return "the script made no step in time; give it more with --minutes, or less to do before its first step"
    if first.backwards < FEW and first.ended.startswith("EOFError"):
        return "the script reads input, and a trial has none: let it take an argument or a file instead"
    if 0 < first.backwards < FEW and not first.failed:
        return f"the script made {first.backwards} training steps and ended; it takes at least {FEW} to compare anything"
    if first.backwards < FEW:
        many = f"made {first.backwards} training steps" if first.backwards else "made no training step"
        return f"the script {many} ({first.ended or 'its process died'})"
    if first.failed and not any(math.isfinite(v) for series in first.losses.values() for v in series):
        return f"the script fails ({first.ended})"
    return ""


def eases(learning: Learning) -> bool:
    """A higher rate makes the loss of training lower by itself, and so do standardised inputs: of a script that learns, an evaluation says
    whether that is good for anything."""
    return learning.slow or not learning.mistake
