"""A target of Q-learning that counts the next value behind the end of an episode."""

from dataclasses import replace

from premortem.events import Event, Promise, RowsCompared, Site

IGNORED = Promise(factor=0.97, reward="r", flag="done", ended=2, counted="all")
SEEN = RowsCompared(step=2, at=Site("train.py", 30), fn="smooth_l1_loss", rows=32, promise=IGNORED)


def run(promise: Promise | None, times: int = 4) -> list[Event]:
    return [replace(SEEN, step=2 + step, promise=promise) for step in range(times)]


EVENTS: list[Event] = run(IGNORED._replace(flag="terminated"))
PERHAPS_A_LIMIT: list[Event] = run(IGNORED)
HEALTHY: list[list[Event]] = [
    run(IGNORED._replace(counted="going on")),
    run(IGNORED._replace(ended=0)),  # no episode has ended in these rows
    run(IGNORED._replace(flag="", ended=0)),  # an endless task
    run(None),
    run(IGNORED, 1),
    [*run(IGNORED._replace(counted="going on"), 1), *run(IGNORED)],
]
