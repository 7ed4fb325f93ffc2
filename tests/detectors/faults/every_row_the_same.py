"""A replay buffer that holds one array many times."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site

SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="smooth_l1_loss", rows=32, alike=True)
RIGHT = replace(SEEN, alike=False)


def run(seen: RowsCompared, times: int) -> list[Event]:
    return [replace(seen, step=2 + step) for step in range(times)]


EVENTS: list[Event] = run(SEEN, 4)
HEALTHY: list[list[Event]] = [
    run(RIGHT, 4),
    run(SEEN, 1),
    [RIGHT, *run(SEEN, 4)],  # a line that also does right
]
