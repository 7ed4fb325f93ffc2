"""A disk that gives back other bytes than it was given."""

from premortem.events import Event, SaveChecked, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    SaveChecked(step=10, at=AT, path="last.pt", weights=4),
    SaveChecked(step=20, at=AT, path="last.pt", damaged="the record `data/0`: its checksum is another"),
]

HEALTHY: list[Event] = [SaveChecked(step=10 * n, at=AT, path="last.pt", weights=4) for n in range(1, 4)]
