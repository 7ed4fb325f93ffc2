"""Scores of (samples, places) are turned before they are made flat, and the targets are not."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site

SEEN = RowsCompared(
    step=2, at=Site("train.py", 30), fn="cross_entropy", rows=32, turned=((16, 24, 30), (16, 24))
)
RIGHT = replace(SEEN, turned=None)


def run(seen: RowsCompared, times: int) -> list[Event]:
    return [replace(seen, step=2 + step) for step in range(times)]


EVENTS: list[Event] = run(SEEN, 4)
HEALTHY: list[list[Event]] = [
    run(RIGHT, 4),
    run(SEEN, 1),
    [RIGHT, *run(SEEN, 4)],  # a line that also does right
]
