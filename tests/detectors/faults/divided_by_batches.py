"""A loop whose source says it: batches for samples."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="batches for samples", name="correct", other="loader")
EVENTS: list[Event] = [SEEN]
HEALTHY: list[list[Event]] = [[replace(SEEN, kind="something else")], []]
