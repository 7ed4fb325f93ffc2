"""Inputs are shuffled, targets are taken in order."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site, Strangers
from tests.detectors.rehearsal import again

SEEN = RowsCompared(
    step=2, at=Site("train.py", 30), fn="mse_loss", rows=32, strangers=Strangers("x", "y", 1000, 0, 609, 32)
)
RIGHT = replace(SEEN, strangers=None, paired=True)


EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 4),
    again(SEEN, 1),
    [RIGHT, *again(SEEN, 4)],  # a line that also does right
    again(replace(SEEN, strangers=None), 4),  # not found in any array
]
