"""A loop whose source says it: left at once."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="left at once", name="i")
EVENTS: list[Event] = [SEEN]
HEALTHY: list[list[Event]] = [[replace(SEEN, kind="something else")], []]
