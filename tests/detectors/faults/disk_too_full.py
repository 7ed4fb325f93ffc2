"""A disk that fills up."""

from premortem.events import Event, RoomShort, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    RoomShort(step=10, at=AT, path="last.pt", given_up=2, in_place=False),
    RoomShort(step=20, at=AT, path="last.pt", given_up=0, in_place=True),
]

HEALTHY: list[Event] = [
    RoomShort(
        step=30, at=AT, path="last.pt", given_up=0, in_place=False, failed="no room"
    ),  # another one speaks
]
