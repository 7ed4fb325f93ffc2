"""PM201 scheduler-stepped-per-batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedule
from premortem.events import Event, OptimizerStep, RunEnded, SchedulerBuilt, SchedulerStep
from premortem.findings import Finding, Severity

# Made to be stepped per batch, or to come back from a low rate again and again.
CYCLIC = frozenset({"OneCycleLR", "CyclicLR", "CosineAnnealingWarmRestarts", "SWALR"})
OWN = "the script's own schedule"
LOW = 0.999e-3  # of the peak; a floor of exactly a thousandth is somebody's choice


@dataclass
class Decay(Schedule):
    """... and how it fell."""

    options: dict[str, float] = field(default_factory=dict)
    first_step: int = 0
    last_step: int = 0
    steps_before: int = 0  # steps of its optimizer before the first call
    steps: int = 0
    changes: int = 0  # calls that changed the rate
    changes_then: int = 0  # ... up to `low_at`
    peak_at: int = 0  # in calls
    least: float = 0.0  # after the peak
    low_at: int | None = None  # since when the rate has been below a thousandth of the peak

    def step(self, event: SchedulerStep) -> None:
        self.explicit = self.explicit or event.explicit
        self.horizon = event.horizon
        self.advance(event, event.before, event.after, event.optimizer_steps, event.count)

    def advance(self, event: Event, before: float, after: float, steps: int, calls: int = 0) -> None:
        if not self.calls:
            self.first_step, self.steps_before = event.step, steps
            self.peak = self.least = before
        self.calls = max(self.calls + 1, calls)
        self.changes += after != before
        self.at, self.last_step, self.steps, self.rate = event.at, event.step, steps, after
        if self.rate > self.peak:
            self.peak, self.peak_at, self.least = self.rate, self.calls, self.rate
        self.least = min(self.least, self.rate)
        if self.rate >= LOW * self.peak:
            self.low_at = None
        elif self.low_at is None:
            self.low_at, self.changes_then = self.calls, self.changes

    @property
    def fall(self) -> int:
        """Calls from the peak down to a thousandth of it."""
        return (self.low_at or 0) - self.peak_at

    @property
    def per_batch(self) -> bool:
        if self.kind == OWN:
            return self.changes_then >= max(8.0, 0.25 * self.fall)
        return self.calls >= 8 and self.steps - self.steps_before <= 1.5 * self.calls


class SchedulerSteppedPerBatch(Detector):
    """A learning-rate schedule made for epochs is stepped once per batch.

    ## Why it matters
    The whole schedule is used up within the first epochs. From then on the learning rate is close to nothing
    (or swings up and down) and the model learns hardly any more, while the loss curve looks like a plateau.

    ## Usual causes
    `scheduler.step()` is indented into the batch loop, while `milestones`, `step_size`, `T_max` or `gamma` count
    epochs.

    ## What to do
    Call `scheduler.step()` once at the end of each epoch, or give the schedule its length in batches:
    `T_max=epochs * len(loader)`.

    ## When it stays silent
    Schedules whose length fits the number of batches, warm-ups, OneCycleLR, CyclicLR, warm restarts, a
    position given as `step(epoch + i / n)`, and a rate that becomes small only near the end of the run.
    """

    card = Card(
        code="PM201",
        name="scheduler-stepped-per-batch",
        family="scheduler",
        severity=Severity.ERROR,
        explains=(
            "scheduler-past-horizon",
            "rate-goes-up-and-down",
            "learning-rate-zero",
            "updates-too-small",
            "metric-frozen",
            "vanishing-gradients",
            "clipped-hard-every-step",
            "plateau-wrong-mode",
        ),
    )
    uses = (Epochs,)
    listens = (*Epochs.LISTENS, OptimizerStep, SchedulerBuilt, SchedulerStep, RunEnded)

    def __init__(self) -> None:
        self._schedules: dict[int, Decay] = {}
        self._own: dict[int, Decay | None] = {}  # optimizer -> schedule without a scheduler

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, OptimizerStep):
            self._trained(event)
        elif isinstance(event, SchedulerBuilt):
            self._own[event.optimizer] = None
            if event.kind not in CYCLIC:
                self._schedules[event.scheduler] = Decay(
                    event.kind, event.optimizer, event.horizon, options=event.options
                )
        elif isinstance(event, SchedulerStep):
            schedule = self._schedules.get(event.scheduler)
            if schedule is not None:
                schedule.step(event)
        else:
            yield from self._judge(event)

    def _trained(self, event: OptimizerStep) -> None:
        """Without a scheduler the script may move the rate itself: then every step is a call."""
        own = self._own.setdefault(event.optimizer, Decay(OWN, event.optimizer, None))
        if own is not None and event.lrs:
            rate = max(event.lrs)
            own.advance(event, own.rate if own.calls else rate, rate, own.calls)

    def _judge(self, event: Event) -> Iterator[Finding]:
        over = isinstance(event, RunEnded)
        owned = {-optimizer: own for optimizer, own in self._own.items() if own is not None}
        for key, schedule in {**self._schedules, **owned}.items():
            if self.said(key) or schedule.explicit or not schedule.per_batch:
                continue
            epochs = self.fact(Epochs).between(schedule.first_step - 1, schedule.last_step)
            used = consumed(schedule, epochs, self.fact(Epochs).planned, over=over)
            if used:
                self.once(key)
                yield self._found(event, schedule, epochs, used)

    def _found(self, event: Event, schedule: Decay, epochs: int, used: str) -> Finding:
        passed = f" in {epochs} epochs" if epochs > 1 else ""
        moved = "moved the rate" if schedule.kind == OWN else "was stepped"
        return self.finding(
            event,
            f"{schedule.kind} {moved} {schedule.calls} times{passed}: {used}",
            cause="The schedule counts epochs, but it moves on with every batch.",
            remedy="Move it on once per epoch, outside the batch loop, or make the schedule as long as all batches "
            "together.",
            at=schedule.at,
            calls=schedule.calls,
            epochs=epochs,
            horizon=schedule.horizon,
            peak=schedule.peak,
            rate=schedule.rate,
        )


def consumed(schedule: Decay, epochs: int, planned: int | None, *, over: bool) -> str:
    """How the schedule was used up long before the training was, or nothing."""
    per_epoch = schedule.calls / epochs if epochs else 0.0
    if schedule.kind == "ReduceLROnPlateau" and per_epoch < 4:
        return ""  # full-batch training: a rate that falls to nothing after convergence is its purpose
    if epochs >= (2 if over else 3) and per_epoch >= 4:
        return (
            faded(schedule, wait=max(schedule.fall, per_epoch))
            or outlived(schedule, epochs, planned, over=over)
            or (over and (decayed_in_steps(schedule, epochs) or decayed_by_factor(schedule, epochs)))
            or ""
        )
    return faded(schedule, wait=max(3 * schedule.fall, 50.0)) if over and epochs < 2 else ""


def faded(schedule: Decay, wait: float) -> str:
    """The rate fell to a thousandth, and training went on for `wait` more calls."""
    if schedule.low_at is None or schedule.calls - schedule.low_at < wait:
        return ""
    return f"the rate fell from {schedule.peak:.3g} below a thousandth of it by call {schedule.low_at}"


def outlived(schedule: Decay, epochs: int, planned: int | None, *, over: bool) -> str:
    """The end of the schedule came while hardly any of the training was done, and fits a number of epochs."""
    horizon = schedule.horizon
    if horizon is None or schedule.calls < 4 * horizon or schedule.least > 0.5 * schedule.peak:
        return ""
    fits = (
        (over and horizon <= 1.5 * epochs)
        or (planned is not None and horizon <= 1.2 * planned)
        or horizon <= 0.5 * schedule.calls / epochs
    )
    return f"its end, {horizon}, was reached after {horizon / schedule.calls:.0%} of them" if fits else ""


def decayed_in_steps(schedule: Decay, epochs: int) -> str:
    size = schedule.options.get("step_size", 0.0)
    if not 0 < size <= epochs or schedule.rate > 0.01 * schedule.peak:
        return ""
    return f"with step_size {size:.0f} the rate fell from {schedule.peak:.3g} to {schedule.rate:.3g}"


def decayed_by_factor(schedule: Decay, epochs: int) -> str:
    gamma = schedule.options.get("gamma", 1.0)
    if schedule.kind != "ExponentialLR" or epochs < 4 or schedule.rate >= LOW * schedule.peak:
        return ""
    per_epoch = gamma ** (schedule.calls / epochs)
    if per_epoch > 1 / 3 and not (per_epoch <= 0.5 and schedule.rate < 0.1 * LOW * schedule.peak):
        return ""
    return f"with gamma {gamma:g} the rate fell from {schedule.peak:.3g} to {schedule.rate:.3g}"
