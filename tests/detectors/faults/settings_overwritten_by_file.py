"""Resumed with a lower rate, which the file replaced by the old one."""

from dataclasses import replace

from premortem.events import Event, Schedule, Setting
from tests.detectors.resumed import RESUMED

LOWER = Setting("initial_lr", 0.0001, 0.001, 0)
WHOLE = Schedule("CosineAnnealingLR", 6, 20, 20, 6, 20)

EVENTS: list[Event] = [replace(RESUMED, overwritten=(LOWER,), schedules=(WHOLE,))]

HEALTHY: list[list[Event]] = [
    [replace(RESUMED, schedules=(WHOLE,))],
    # the schedule had lowered it: that is what is resumed
    [replace(RESUMED, overwritten=(Setting("lr", 0.01, 0.001, 0),), schedules=(WHOLE,))],
    # computed in another way, and the same
    [replace(RESUMED, overwritten=(Setting("initial_lr", 0.0010000001, 0.001, 0),), schedules=(WHOLE,))],
]
