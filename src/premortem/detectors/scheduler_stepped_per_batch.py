import re

from premortem.detectors.base import FADING, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import LOW, OWN, Schedule, Schedules
from premortem.events import Event, FilesRead, RunEnded, Variable

# What a setting is called that counts steps.
_STEPS = frozenset({"step", "steps", "iter", "iters", "iteration", "iterations", "updates"})
_NEAR = 1.1  # times the call at which the rate was gone: how long the schedule may be
# Made to be stepped per batch, or to come back from a low rate again and again.
CYCLIC = frozenset({"OneCycleLR", "CyclicLR", "CosineAnnealingWarmRestarts", "SWALR"})


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
    position given as `step(epoch + i / n)`, and a rate that becomes small only near the end of the run. When a setting in a file that
    the script reads says how many steps the schedule has: it is too short then, and counts no epochs.
    """

    card = Card("PM201", "scheduler-stepped-per-batch", "scheduler", Severity.ERROR).explaining(
        *FADING,
        "scheduler-past-horizon",
        "schedule-ends-before-the-run",
        "rate-goes-up-and-down",
        "learning-rate-zero",
        "clipped-hard-every-step",
        "plateau-wrong-mode",
    )
    uses = (Epochs, Schedules)
    listens = (*Epochs.LISTENS, FilesRead, RunEnded)

    def __init__(self) -> None:
        self._settings: tuple[Variable, ...] = ()

    def observe(self, event: Event) -> Findings:
        if isinstance(event, FilesRead):
            self._settings = event.settings
        epochs, schedules = self.fact(Epochs), self.fact(Schedules)
        over = isinstance(event, RunEnded)
        known = {key: s for key, s in schedules.of.items() if s.built is not None and s.kind not in CYCLIC}
        for key, schedule in {**known, **{-key: own for key, own in schedules.own.items()}}.items():
            if self.said(key) or schedule.explicit or not per_batch(schedule):
                continue
            passed = epochs.between(schedule.first_step - 1, schedule.last_step)
            used = consumed(schedule, passed, epochs.planned, over=over)
            if used and not any(says_its_steps(each, schedule) for each in self._settings):
                self.once(key)
                yield self._found(event, schedule, passed, used)

    def _found(self, event: Event, schedule: Schedule, epochs: int, used: str) -> Finding:
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


def says_its_steps(setting: Variable, schedule: Schedule) -> bool:
    """`decay_steps: 320`, of a schedule whose rate is gone by call 320."""
    if not _STEPS & set(re.split(r"[^a-z]+", setting.name.lower())):
        return False
    number = int(setting.value)
    return number == schedule.horizon or 0 <= number + 1 - (schedule.low_at or 0) <= (_NEAR - 1) * number


def per_batch(schedule: Schedule) -> bool:
    if schedule.kind == OWN:
        return schedule.changes_then >= max(8.0, 0.25 * schedule.fall)
    return schedule.calls >= 8 and schedule.steps - schedule.steps_before <= 1.5 * schedule.calls


def consumed(schedule: Schedule, epochs: int, planned: int | None, *, over: bool) -> str:
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
    if schedule.final and epochs and per_epoch >= 4:
        return faded(schedule, wait=max(schedule.fall, per_epoch))  # and so it stays
    return faded(schedule, wait=max(3 * schedule.fall, 50.0)) if over and epochs < 2 else ""


def faded(schedule: Schedule, wait: float) -> str:
    """The rate fell to a thousandth, and training went on for `wait` more calls."""
    if schedule.low_at is None or schedule.calls - schedule.low_at < wait:
        return ""
    return f"by call {schedule.low_at} the rate had fallen from {schedule.peak:.3g} to less than a thousandth of it"


def outlived(schedule: Schedule, epochs: int, planned: int | None, *, over: bool) -> str:
    """The schedule ended when little of the training was done, and its length fits a number of epochs."""
    horizon = schedule.horizon
    if horizon is None or schedule.calls < 4 * horizon or schedule.least > 0.5 * schedule.peak:
        return ""
    fits = (
        (over and horizon <= 1.5 * epochs)
        or (planned is not None and horizon <= 1.2 * planned)
        or horizon <= 0.5 * schedule.calls / epochs
    )
    return f"it reached its end, {horizon}, after {horizon / schedule.calls:.0%} of them" if fits else ""


def decayed_in_steps(schedule: Schedule, epochs: int) -> str:
    size = schedule.options.get("step_size", 0.0)
    if not 0 < size <= epochs or schedule.rate > 0.01 * schedule.peak:
        return ""
    return f"with step_size {size:.0f} the rate fell from {schedule.peak:.3g} to {schedule.rate:.3g}"


def decayed_by_factor(schedule: Schedule, epochs: int) -> str:
    gamma = schedule.options.get("gamma", 1.0)
    if schedule.kind != "ExponentialLR" or epochs < 4 or schedule.rate >= LOW * schedule.peak:
        return ""
    per_epoch = gamma ** (schedule.calls / epochs)
    if per_epoch > 1 / 3 and not (per_epoch <= 0.5 and schedule.rate < 0.1 * LOW * schedule.peak):
        return ""
    return f"with gamma {gamma:g} the rate fell from {schedule.peak:.3g} to {schedule.rate:.3g}"
