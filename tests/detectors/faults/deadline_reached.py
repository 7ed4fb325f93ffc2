"""The session is nearly over."""

from premortem.events import DeadlineMet, Event, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    DeadlineMet(step=90, at=AT, left=40.0, needed=45.0, path="runs/1/last_good.pt", mirrored=True)
]

HEALTHY: list[Event] = []
