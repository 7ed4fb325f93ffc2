"""Epoch 6 begins with the rate of epoch 0."""

from dataclasses import replace

from premortem.events import Event, Schedule, SchedulerStep
from tests.detectors.resumed import RESUMED

FRESH = Schedule("CosineAnnealingLR", 0, 20, 20, 6, 20)
JUMPED = replace(RESUMED, rates=(0.01,), schedules=(FRESH,))

EVENTS: list[Event] = [JUMPED]

# The file does not hold the schedule; the optimizer's rate was restored, and the schedule begins at another one.
ABSENT = Schedule("LambdaLR", 0, None, None, None, None, rate=2 * RESUMED.rates[0])
NOT_SAVED: list[Event] = [replace(RESUMED, schedules=(ABSENT,))]

AGREES = replace(RESUMED, schedules=(ABSENT._replace(rate=RESUMED.rates[0]),))


def moved(after: float, position: int = 1) -> SchedulerStep:
    """The first step of the schedule after the run was resumed."""
    facts = {"scheduler": 1, "kind": "LambdaLR", "count": 1, "position": position, "horizon": None}
    return SchedulerStep(optimizer=RESUMED.optimizer, before=RESUMED.rates[0], after=after, **facts)


BY_CHANCE: list[Event] = [AGREES, moved(2 * RESUMED.rates[0])]

# The file holds it at position 6, and it has no length that could be compared: its first move takes the rate away.
HELD = replace(RESUMED, schedules=(ABSENT._replace(saved_position=6),))
HELD_AND_MOVED: list[Event] = [HELD, moved(2 * RESUMED.rates[0])]

# An optimizer whose schedule begins again (its counter is reset: nothing is said), and another one, whose schedule was replaced.
ANOTHER: list[Event] = [
    replace(AGREES, restored=False),
    moved(2 * RESUMED.rates[0]),
    replace(HELD, optimizer=RESUMED.optimizer + 1),
]

HEALTHY: list[list[Event]] = [
    ANOTHER,
    [AGREES, moved(0.9 * RESUMED.rates[0])],
    [AGREES, moved(2 * RESUMED.rates[0], position=7)],
    [HELD, moved(0.9 * RESUMED.rates[0])],
    [replace(RESUMED, schedules=(ABSENT._replace(rate=RESUMED.rates[0]),))],  # the offset is in the lambda
    [replace(RESUMED, schedules=(ABSENT._replace(kind="ExponentialLR"),))],
    [replace(RESUMED, schedules=(ABSENT._replace(position=6),))],
    [replace(RESUMED, schedules=(FRESH._replace(position=6),))],
    [replace(JUMPED, reached=(("epoch", 0),))],  # a warm restart: it counts its epochs anew
    [replace(JUMPED, restored=False)],
    # a second phase: a rate of the script's own, or another schedule
    [replace(JUMPED, by_hand=True)],
    [replace(JUMPED, schedules=(FRESH._replace(kind="StepLR", horizon=None, other_kind=True),))],
    # the schedule is built for the rest, from the rate that is there
    [replace(RESUMED, schedules=(FRESH._replace(horizon=14),))],
    # nothing is in the file, and the first rate is that of the file: the offset is in the lambda
    [replace(RESUMED, schedules=(Schedule("LambdaLR", 0, None, None, None, None),))],
    [replace(RESUMED, schedules=(Schedule("ExponentialLR", 0, None, None, 6, None),))],
]
