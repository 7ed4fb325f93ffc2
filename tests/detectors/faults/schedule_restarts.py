"""Epoch 6 begins with the rate of epoch 0."""

from dataclasses import replace

from premortem.events import Event, Schedule
from tests.detectors.resumed import RESUMED

FRESH = Schedule("CosineAnnealingLR", 0, 20, 20, 6, 20)
JUMPED = replace(RESUMED, rates=(0.01,), schedules=(FRESH,))

EVENTS: list[Event] = [JUMPED]

HEALTHY: list[list[Event]] = [
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
