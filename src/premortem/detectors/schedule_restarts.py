"""PM336 schedule-restarts."""

from __future__ import annotations

import math

from premortem.cards import Card
from premortem.detectors.shared.resuming import OfResumed, file_of, goes_on
from premortem.events import Resumed, Schedule
from premortem.findings import Finding, Severity

_JUMP = 1.5  # between the rate in the file and that of the first step
_BEGINNING = 1  # a scheduler that was just built stands here, or at 0
# These go on from the rate that is there, whatever their own position is.
_RELATIVE = frozenset({"ExponentialLR", "MultiplicativeLR", "ReduceLROnPlateau"})


class ScheduleRestarts(OfResumed):
    """A run is resumed, and its learning-rate schedule begins again from the start.

    ## Why it matters
    The rate jumps back to its first value (and through the warm-up again) on weights that were being fine-tuned at a
    small one: the loss jumps, and the end of the schedule is never reached.

    ## Usual causes
    `scheduler.state_dict()` was not saved, or not loaded; the scheduler was built anew after the optimizer was
    restored.

    ## What to do
    Save and load the scheduler with the model and the optimizer: `scheduler.load_state_dict(checkpoint["scheduler"])`.

    ## When it stays silent
    A new training that starts from old weights and counts its epochs from the start (a warm restart that is meant), a
    scheduler that was wound forward by hand, and a schedule that gives the rate of the file. A second phase: the script
    set a rate of its own after it loaded the state, or its schedule is of another kind than the one in the file.
    """

    card = Card(code="PM336", name="schedule-restarts", family="checkpoint", severity=Severity.WARNING)

    def judge(self, event: Resumed) -> Finding | None:
        if goes_on(event) is None or event.by_hand:
            return None
        jump = jumped(event)
        for schedule in event.schedules:
            if schedule.other_kind:
                continue
            if schedule.position <= _BEGINNING and (jump or self._must_be_off(schedule)):
                return self._found(event, schedule)
        return None

    def _must_be_off(self, schedule: Schedule) -> bool:
        """The state in the file is further, and it is the same schedule: from here on it will be late."""
        behind = schedule.saved_position is not None and schedule.saved_position >= schedule.position + 2
        same = schedule.horizon is not None and schedule.horizon == schedule.saved_horizon
        return behind and same and schedule.kind not in _RELATIVE

    def _found(self, event: Resumed, schedule: Schedule) -> Finding:
        name, value = goes_on(event) or ("", 0)
        now, then = largest(event.rates), largest(event.saved_rates)
        rates = (
            f"the rate is {now:.3g}, it was {then:.3g}"
            if jumped(event)
            else "its next rates are those of the start"
        )
        saved = schedule.saved_position
        held = f"The file holds it at position {saved}" if saved is not None else "The file does not hold it"
        return self.about(
            event,
            f"the run goes on at {name} {value} with `{file_of(event)}`, but its {schedule.kind} begins again at "
            f"{schedule.position}: {rates}",
            cause=f"The scheduler's state was not restored. {held}.",
            remedy="Load it after it was built: `scheduler.load_state_dict(checkpoint[...])`."
            if saved is not None
            else "Save `scheduler.state_dict()` in the checkpoint, and load it after the scheduler was built.",
            position=schedule.position,
            saved_position=saved,
            rate=now,
            saved_rate=then,
        )


def largest(rates: tuple[float, ...]) -> float:
    return max((rate for rate in rates if not math.isnan(rate)), default=math.nan)


def jumped(event: Resumed) -> bool:
    now, then = largest(event.rates), largest(event.saved_rates)
    return then > 0 and now > 0 and max(now / then, then / now) > _JUMP
