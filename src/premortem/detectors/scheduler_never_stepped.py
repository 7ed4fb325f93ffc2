from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedule, Schedules
from premortem.events import Event, RunEnded


class SchedulerNeverStepped(Detector):
    """A learning-rate scheduler is built and never stepped.

    ## Why it matters
    The learning rate stays where the constructor left it: a decay never comes, and a schedule that starts low
    (one-cycle, warm-up) keeps the whole run at a fraction of the intended rate.

    ## Usual causes
    `scheduler.step()` was forgotten, stands behind a condition that is never true, or was lost when the loop was
    rewritten.

    ## What to do
    Call `scheduler.step()` after each epoch or batch, as the schedule was made, or delete the scheduler.

    ## When it stays silent
    Runs of fewer than three epochs, schedulers that another one steps, and rates that the script moves itself.
    """

    card = Card("PM203", "scheduler-never-stepped", "scheduler", Severity.ERROR).explaining(
        "learning-rate-zero", "updates-too-small"
    )
    uses = (Epochs, Schedules)
    listens = (*Epochs.LISTENS, RunEnded)

    def observe(self, event: Event) -> Findings:
        idle = [
            (key, s)
            for key, s in self.fact(Schedules).of.items()
            if s.built is not None and not s.stepped and not s.moved and not self.said(key)
        ]
        if isinstance(event, RunEnded) and event.reason != "finished":
            return
        for key, schedule in idle:
            epochs = self.fact(Epochs).between(schedule.built or 0, event.step)
            over = isinstance(event, RunEnded) or too_late(schedule, epochs, self.fact(Epochs).planned)
            if not over or not had_its_chance(schedule, epochs) or not self.once(key):
                continue
            rate = max(schedule.rates, default=0.0)
            yield self.finding(
                event,
                f"{schedule.kind} was never stepped in {schedule.trained} optimizer steps"
                + (f" ({epochs} epochs)" if epochs > 1 else "")
                + f": the rate was {rate:.3g} throughout",
                cause="Without scheduler.step() a schedule does nothing.",
                remedy="Call scheduler.step() in the loop, as often as the schedule was made for.",
                at=schedule.built_at,
                steps=schedule.trained,
                epochs=epochs,
                rate=rate,
            )


def had_its_chance(schedule: Schedule, epochs: int) -> bool:
    # A plateau scheduler waits for a bad patch, which a healthy run may never reach; SWALR for the end of a long run.
    least = 5 if schedule.kind == "ReduceLROnPlateau" else 3
    if schedule.kind == "SWALR" or schedule.trained < 10:
        return False
    return epochs >= least or (epochs < 2 and schedule.trained >= 200)


def too_late(schedule: Schedule, epochs: int, planned: int | None) -> bool:
    """Not even half of the schedule can be made in the epochs that are left, if it is called from now on.

    Some scripts begin to call it only after a warm-up; until then it is not known that they never will.
    """
    if schedule.horizon is None or planned is None or not epochs:
        return False
    counts_epochs = schedule.horizon <= 1.2 * planned
    calls = (planned - epochs) * (1.0 if counts_epochs else schedule.trained / epochs)
    return calls < 0.5 * schedule.horizon
