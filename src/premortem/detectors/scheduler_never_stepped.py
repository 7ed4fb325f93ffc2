"""PM203 scheduler-never-stepped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.epochs import Epochs
from premortem.events import Event, OptimizerStep, RunEnded, SchedulerBuilt, SchedulerStep, Site
from premortem.findings import Finding, Severity

# They wait for something that a healthy run may never reach: a bad patch, the last quarter of a long run.
WAITING = frozenset({"ReduceLROnPlateau", "SWALR"})


@dataclass
class Idle:
    """A scheduler nobody has called so far."""

    kind: str
    optimizer: int
    at: Site | None
    built: int  # the step it was built at
    steps: int = 0  # of its optimizer since then
    rates: tuple[float, ...] = ()
    moved: bool = False  # the rate changes without it


class SchedulerNeverStepped(Detector):
    """A learning-rate scheduler is built and never stepped.

    ## Why it matters
    The learning rate stays where the constructor left it: a decay never comes, and a schedule that starts low
    (one-cycle, warm-up) keeps the whole run at a fraction of the rate that was asked for.

    ## Usual causes
    `scheduler.step()` was forgotten, stands behind a condition that is never true, or was lost when the loop was
    rewritten.

    ## What to do
    Call `scheduler.step()` after each epoch or batch, as the schedule was made, or delete the scheduler.

    ## When it stays silent
    Runs of fewer than three epochs, schedulers that another one steps, and rates that the script moves itself.
    """

    card = Card(
        code="PM203",
        name="scheduler-never-stepped",
        family="scheduler",
        severity=Severity.ERROR,
        explains=("learning-rate-zero", "updates-too-small"),
    )
    uses = (Epochs,)
    listens = (OptimizerStep, SchedulerBuilt, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self._idle: dict[int, Idle] = {}

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerStep):
            self._trained(event)
        elif isinstance(event, SchedulerBuilt):
            for part in event.parts:
                self._idle.pop(part, None)
            self._idle[event.scheduler] = Idle(event.kind, event.optimizer, event.at, event.step)
        elif isinstance(event, SchedulerStep):
            for key in (event.scheduler, *event.parts):
                self._idle.pop(key, None)
        elif isinstance(event, RunEnded):
            yield from self._ended(event)

    def _trained(self, event: OptimizerStep) -> None:
        for idle in self._idle.values():
            if idle.optimizer == event.optimizer:
                idle.steps += 1
                idle.moved = idle.moved or (bool(idle.rates) and event.lrs != idle.rates)
                idle.rates = event.lrs

    def _ended(self, event: RunEnded) -> Iterator[Finding]:
        if event.reason != "finished":
            return
        for idle in self._idle.values():
            epochs = self.fact(Epochs).between(idle.built, event.step)
            if idle.moved or not self._had_its_chance(idle, epochs):
                continue
            rate = max(idle.rates, default=0.0)
            yield self.finding(
                event,
                f"{idle.kind} was never stepped in {idle.steps} optimizer steps"
                + (f" ({epochs} epochs)" if epochs > 1 else "")
                + f": the rate was {rate:.3g} throughout",
                cause="Without scheduler.step() a schedule does nothing.",
                remedy="Call scheduler.step() in the loop, as often as the schedule was made for.",
                at=idle.at,
                steps=idle.steps,
                epochs=epochs,
                rate=rate,
            )

    def _had_its_chance(self, idle: Idle, epochs: int) -> bool:
        least = 5 if idle.kind in WAITING else 3
        if idle.kind == "SWALR":
            return False
        return idle.steps >= 10 and (epochs >= least or (epochs < 2 and idle.steps >= 200))
