"""A disk that is full."""

from premortem.events import Event, RoomShort, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    RoomShort(step=20, at=AT, path="last.pt", given_up=0, in_place=True),
    RoomShort(step=30, at=AT, path="last.pt", given_up=0, in_place=False, failed="no room"),
]

HEALTHY: list[Event] = [RoomShort(step=20, at=AT, path="last.pt", given_up=0, in_place=True)]
