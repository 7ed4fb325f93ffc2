"""Scores of (samples, places) are turned before they are made flat, and the targets are not."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site
from tests.detectors.rehearsal import again

SEEN = RowsCompared(
    step=2, at=Site("train.py", 30), fn="cross_entropy", rows=32, turned=((16, 24, 30), (16, 24))
)
RIGHT = replace(SEEN, turned=None)


EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 4),
    again(SEEN, 1),
    [RIGHT, *again(SEEN, 4)],  # a line that also does right
]
