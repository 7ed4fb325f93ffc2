"""A contrastive loss without its mask on the diagonal."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site
from tests.detectors.rehearsal import again

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="cross_entropy", rows=32, itself="rival")
RIGHT = replace(SEEN, itself="")


EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 4),
    again(SEEN, 1),
    [RIGHT, *again(SEEN, 4)],  # a line that also does right
]
