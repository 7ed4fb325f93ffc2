"""A loop whose source says it: patience."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="patience", name="bad")
EVENTS: list[Event] = [SEEN]
HEALTHY: list[list[Event]] = [[replace(SEEN, kind="something else")], []]
