from premortem.detectors.base import STILL, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedule, Schedules
from premortem.events import Event, RunEnded, SchedulerStep


class SchedulerSteppedPerEpoch(Detector):
    """A learning-rate schedule made for all batches is stepped only once per epoch, or per accumulated update.

    ## Why it matters
    Only a small part of the schedule is ever used: a one-cycle policy never leaves its warm-up, a cosine never
    comes down, a warm-up from zero stays close to zero.

    ## Usual causes
    `total_steps=epochs * len(loader)` with `scheduler.step()` outside the batch loop; or gradient accumulation,
    where the schedule was made for batches and moves on with updates.

    ## What to do
    Call `scheduler.step()` after each `optimizer.step()`, or make the schedule as long as the number of calls.

    ## When it stays silent
    A run that was cut short, and schedules whose length has nothing to do with the number of steps made.
    """

    card = Card("PM202", "scheduler-stepped-per-epoch", "scheduler", Severity.ERROR).explaining(
        *STILL, "learning-rate-zero", "schedule-ends-before-the-run"
    )
    uses = (Epochs, Schedules)
    listens = (SchedulerStep, RunEnded)

    def observe(self, event: Event) -> Findings:
        schedules = self.fact(Schedules)
        if isinstance(event, SchedulerStep):
            schedule = schedules.of[event.scheduler]
            # The script itself may name how many epochs it wants to make.
            planned = (self.fact(Epochs).planned or 0) * schedule.gap
            if schedule.calls == 3 and schedule.gap >= 3 and matches(schedule, planned):
                self.once(event.scheduler)
                yield self._found(event, schedule, planned, "steps are planned")
        elif isinstance(event, RunEnded) and event.reason == "finished":
            for key, schedule in schedules.of.items():
                micro = schedules.backwards - schedule.backwards_before
                if schedule.calls < 2 or self.said(key):
                    continue
                if schedule.trained >= 3 * schedule.calls and matches(schedule, schedule.trained):
                    yield self._found(event, schedule, schedule.trained, "steps were made")
                elif micro >= 2 * schedule.trained and matches(schedule, micro):
                    yield self._found(event, schedule, micro, "batches were accumulated")
                elif still_warming_up(schedule):
                    yield self._cold(event, schedule)

    def _found(self, event: Event, schedule: Schedule, made: int, what: str) -> Finding:
        share = schedule.calls / (schedule.horizon or 1)
        return self.finding(
            event,
            f"{schedule.kind} is made for {schedule.horizon} calls, and {made} {what}, but it was called "
            f"{schedule.calls} times: {share:.0%} of the schedule",
            cause="The schedule counts batches, but it moves on far less often.",
            remedy="Call scheduler.step() as often as the schedule was made for, right after each "
            "optimizer.step(), or divide its length.",
            at=schedule.at,
            calls=schedule.calls,
            horizon=schedule.horizon,
            steps=schedule.trained,
            rate=schedule.rate,
        )

    def _cold(self, event: Event, schedule: Schedule) -> Finding:
        return self.finding(
            event,
            f"the warm-up never ended: after {schedule.trained} steps and {schedule.calls} calls of "
            f"{schedule.kind} the rate is {schedule.rate:.3g} of {schedule.base:.3g}",
            cause="The warm-up counts batches, but it moves on once per epoch.",
            remedy="Call scheduler.step() after each optimizer.step(), or count the warm-up in epochs.",
            at=schedule.at,
            severity=Severity.WARNING,
            calls=schedule.calls,
            steps=schedule.trained,
            rate=schedule.rate,
            base=schedule.base,
        )


def matches(schedule: Schedule, made: int) -> bool:
    """The schedule's length is this number, and nothing near the number of calls."""
    horizon = schedule.horizon
    if schedule.built is None or horizon is None or horizon < 20:
        return False
    if schedule.kind == "MultiStepLR" or schedule.explicit:
        return False
    return abs(horizon - made) <= max(1.0, 0.01 * horizon) and schedule.calls <= 0.5 * horizon


def still_warming_up(schedule: Schedule) -> bool:
    rising = schedule.straight and not schedule.explicit and schedule.rate <= 0.2 * schedule.base
    return rising and schedule.calls >= 5 and schedule.trained >= 5 * schedule.calls
