"""A loop whose source says it: chosen."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="chosen", name="train_acc", other="val_acc")
EVENTS: list[Event] = [SEEN]
HEALTHY: list[list[Event]] = [[replace(SEEN, kind="something else")], []]
