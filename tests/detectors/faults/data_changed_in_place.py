"""`x = self.data[i]; x += noise` in `__getitem__`."""

from premortem.events import Array, EpochStarted, Event, Site

AT = Site("train.py", 31)


def epochs(*arrays: tuple[float, float], inside: bool = True) -> list[Event]:
    return [
        EpochStarted(step=10 * number, at=AT, loader=1, arrays=(Array("x", distance, spread, inside),))
        for number, (distance, spread) in enumerate(arrays)
    ]


EVENTS: list[Event] = epochs((0.0, 1.0), (0.24, 1.05), (0.34, 1.1), (0.42, 1.14), (0.48, 1.2))

HEALTHY: list[list[Event]] = [
    epochs(*[(0.0, 1.0)] * 8),
    epochs((0.0, 0.0), (1.1, 1.0), (1.1, 1.0), (1.1, 1.0), (1.1, 1.0)),  # a cache that is filled once
    epochs((0.0, 1.0), (0.24, 1.0), (0.25, 1.0), (0.24, 1.0), (0.25, 1.0)),  # drawn anew in each epoch
    # soft labels that the training loop refines
    epochs((0.0, 1.0), (0.24, 1.0), (0.34, 1.0), (0.42, 1.0), (0.48, 1.0), inside=False),
]
