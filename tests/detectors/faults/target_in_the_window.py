"""A forecast of the last value of its own window."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site
from tests.detectors.rehearsal import again

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="mse_loss", rows=32, window="[:, -1, 0]")
RIGHT = replace(SEEN, window="")


EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 4),
    again(SEEN, 1),
    [RIGHT, *again(SEEN, 4)],  # a line that also does right
]
