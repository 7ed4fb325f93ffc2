"""Inputs are shuffled, targets are taken in order."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site, Strangers

SEEN = RowsCompared(
    step=2, at=Site("train.py", 30), fn="mse_loss", rows=32, strangers=Strangers("x", "y", 1000, 0, 609, 32)
)
RIGHT = replace(SEEN, strangers=None, paired=True)


def run(seen: RowsCompared, times: int) -> list[Event]:
    return [replace(seen, step=2 + step) for step in range(times)]


EVENTS: list[Event] = run(SEEN, 4)
HEALTHY: list[list[Event]] = [
    run(RIGHT, 4),
    run(SEEN, 1),
    [RIGHT, *run(SEEN, 4)],  # a line that also does right
    run(replace(SEEN, strangers=None), 4),  # not found in any array
]
