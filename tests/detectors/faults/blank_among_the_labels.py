"""The alphabet begins at 0, and so does the blank."""

from premortem.events import Aligned, Event, Site

AT = Site("train.py", 30, "main")


def calls(*blanks: int) -> list[Event]:
    return [
        Aligned(step=step, at=AT, blank=0, labels=120, blanks=each, classes=7)
        for step, each in enumerate(blanks)
    ]


EVENTS = calls(20, 18, 0, 25)
HEALTHY: list[list[Event]] = [calls(0, 0, 0, 0, 0), calls(3, 0, 0, 0, 0)]
