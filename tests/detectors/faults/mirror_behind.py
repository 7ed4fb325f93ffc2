"""A mirror whose credentials have expired."""

from premortem.events import Event, MirrorSeen, Site

AT = Site("train.py", 40)

EVENTS: list[Event] = [
    MirrorSeen(step=10, at=AT, url="s3://b", pending=1, failures=3, problem="Access denied", minutes=2.0),
    MirrorSeen(
        step=90, at=AT, url="s3://b", pending=4, failures=9, problem="Access denied", minutes=9.0, ended=True
    ),
]

HEALTHY: list[Event] = [
    MirrorSeen(step=90, at=AT, url="s3://b", pending=0, failures=0, problem="", minutes=0.0, ended=True)
]
