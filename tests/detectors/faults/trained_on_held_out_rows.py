"""A graph whose loss compares all nodes."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="cross_entropy", rows=32, held_out=("test_mask", 160))
RIGHT = replace(SEEN, held_out=None)


def run(seen: RowsCompared, times: int) -> list[Event]:
    return [replace(seen, step=2 + step) for step in range(times)]


EVENTS: list[Event] = run(SEEN, 4)
HEALTHY: list[list[Event]] = [
    run(RIGHT, 4),
    run(SEEN, 1),
    [RIGHT, *run(SEEN, 4)],  # a line that also does right
]
