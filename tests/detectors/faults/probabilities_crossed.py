"""A teacher whose softmax runs over the samples."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site
from tests.detectors.rehearsal import again

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="kl_div", rows=32, crossed=(1, 0))
RIGHT = replace(SEEN, crossed=None)


EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 4),
    again(SEEN, 1),
    [RIGHT, *again(SEEN, 4)],  # a line that also does right
]
