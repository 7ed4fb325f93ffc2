"""A copy of the initial state dict is saved after every epoch."""

from premortem.events import CheckpointSaved, Event, Site

AT = Site("train.py", 90)


def saves(*facts: tuple[int, bool | None]) -> list[Event]:
    return [
        CheckpointSaved(step=10 * number, at=AT, path="last.pt", bytes=1, weights=weights, current=current)
        for number, (weights, current) in enumerate(facts, start=1)
    ]


EVENTS: list[Event] = saves((5, False), (5, False), (5, False))

HEALTHY: list[list[Event]] = [
    saves((5, True), (6, True), (7, True)),
    saves((5, True), (5, False), (5, False), (5, False)),  # the best so far, saved again
    saves((5, False), (6, False), (7, False)),  # an EMA
    saves((5, None), (5, None), (5, None)),  # something that is no model
    saves((5, False), (5, False)),
]
