from premortem.derived.windows import STEPPED, WindowEnded
from premortem.detectors.base import STILL, Card, Detector, Findings, Severity
from premortem.detectors.shared.schedules import Schedules
from premortem.events import Event, OptimizerStep

ENOUGH = 8  # steps that were made after the end of the schedule: a rounded length leaves fewer
CLOSE = 0.1  # relative; the last window of an epoch may be shorter


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

    card = Card("PM210", "scheduler-stepped-per-micro-batch", "scheduler", Severity.ERROR).explaining(
        *STILL,
        "scheduler-stepped-per-batch",
        "scheduler-past-horizon",
        "schedule-ends-before-the-run",
        "rate-goes-up-and-down",
        "scheduler-before-optimizer",
        "learning-rate-zero",
    )
    uses = (Schedules,)
    listens = (OptimizerStep, WindowEnded)

    def __init__(self) -> None:
        self._micros: dict[int, int] = {}  # optimizer -> micro-batches to a step
        self._idle: dict[int, int] = {}  # scheduler -> steps since its end

    def observe(self, event: Event) -> Findings:
        if isinstance(event, WindowEnded):
            if event.end == STEPPED and event.accumulates:
                self._micros[event.optimizer] = max(len(event.micros), self._micros.get(event.optimizer, 0))
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)

    def _stepped(self, event: OptimizerStep) -> Findings:
        for key, schedule in self.fact(Schedules).of.items():
            if schedule.optimizer != event.optimizer or self.said(key):
                continue
            over = schedule.rate == 0 < schedule.peak
            idle = self._idle[key] = self._idle.get(key, 0) + 1 + event.rested if over else 0
            micros = self._micros.get(event.optimizer, 1)
            each = schedule.calls / schedule.steps if schedule.steps else 0.0
            if idle >= ENOUGH and micros > 1 and abs(each / micros - 1) < CLOSE:
                self.once(key)
                yield self.finding(
                    event,
                    f"{schedule.kind} was stepped {schedule.calls} times in {schedule.steps} optimizer steps: the last "
                    f"{idle} of them were made at rate 0, and training goes on",
                    cause=f"It moves on with every micro-batch, and {micros} of them make one optimizer step.",
                    remedy="Call scheduler.step() right after optimizer.step(), under the same condition, or make the "
                    f"schedule {micros} times as long.",
                    at=schedule.at,
                    calls=schedule.calls,
                    steps=schedule.steps,
                    micro_batches=micros,
                )
