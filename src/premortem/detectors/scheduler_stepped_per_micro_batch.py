"""PM210 scheduler-stepped-per-micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from premortem.cards import Card
from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import Detector
from premortem.events import Event, OptimizerStep, SchedulerStep, Site
from premortem.findings import Finding, Severity

ENOUGH = 8  # steps that were made after the end of the schedule: a rounded length leaves fewer
CLOSE = 0.1  # relative; the last window of an epoch may be shorter


@dataclass
class Calls:
    """Of one scheduler."""

    at: Site | None
    kind: str
    optimizer: int
    count: int
    steps: int  # of its optimizer by then
    over: bool  # it has brought the rate down to 0


class SchedulerSteppedPerMicroBatch(Detector):
    """A schedule for optimizer steps is moved on by every micro-batch of gradient accumulation.

    ## Why it matters
    With k micro-batches to a step the schedule is over after one k-th of the training. The rest is done at rate 0: the
    loss looks like a plateau, and most of the run is wasted.

    ## Usual causes
    `scheduler.step()` is indented one level too little: it stands beside the `if` under which the optimizer steps,
    instead of in it.

    ## What to do
    Move `scheduler.step()` to the line after `optimizer.step()`, under the same `if`.

    ## When it stays silent
    While the schedule lasts (one that was made as long as all micro-batches together is right), and when it does not
    end at 0.
    """

    card = Card(
        code="PM210",
        name="scheduler-stepped-per-micro-batch",
        family="scheduler",
        severity=Severity.ERROR,
        explains=(
            "scheduler-stepped-per-batch",
            "scheduler-past-horizon",
            "rate-goes-up-and-down",
            "scheduler-before-optimizer",
            "learning-rate-zero",
            "updates-too-small",
            "metric-frozen",
        ),
    )
    listens = (SchedulerStep, OptimizerStep, WindowEnded)

    def __init__(self) -> None:
        self._calls: dict[int, Calls] = {}
        self._micros: dict[int, int] = {}  # optimizer -> micro-batches to a step
        self._idle: dict[int, int] = {}  # scheduler -> steps since its end

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, WindowEnded):
            if event.end == STEPPED and event.accumulates:
                self._micros[event.optimizer] = max(len(event.micros), self._micros.get(event.optimizer, 0))
        elif isinstance(event, SchedulerStep):
            known = self._calls.get(event.scheduler)
            over = event.after == 0 and (event.before > 0 or (known is not None and known.over))
            self._calls[event.scheduler] = Calls(
                event.at, event.kind, event.optimizer, event.count, event.optimizer_steps, over
            )
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> Iterator[Finding]:
        for key, calls in self._calls.items():
            if calls.optimizer != event.optimizer or self.said(key):
                continue
            self._idle[key] = self._idle.get(key, 0) + 1 + event.rested if calls.over else 0
            micros = self._micros.get(event.optimizer, 1)
            each = calls.count / calls.steps if calls.steps else 0.0
            if self._idle[key] >= ENOUGH and micros > 1 and abs(each / micros - 1) < CLOSE:
                self.once(key)
                yield self._found(event, calls, micros, self._idle[key])

    def _found(self, event: OptimizerStep, calls: Calls, micros: int, idle: int) -> Finding:
        return self.finding(
            event,
            f"{calls.kind} was stepped {calls.count} times in {calls.steps} optimizer steps: the last {idle} of them "
            "were made at rate 0, and training goes on",
            cause=f"It moves on with every micro-batch, and {micros} of them make one optimizer step.",
            remedy="Call scheduler.step() right after optimizer.step(), under the same condition, or make the schedule "
            f"{micros} times as long.",
            at=calls.at,
            calls=calls.count,
            steps=calls.steps,
            micro_batches=micros,
        )
