"""The decay of an average and its rest are swapped."""

from premortem.events import CopyFollowed, Event


def run(*moved: float, first: int = 64) -> list[Event]:
    return [
        CopyFollowed(step=first + each, name="ema", original=1, moved=part, way=0.9)
        for each, part in enumerate(moved)
    ]


EVENTS = run(0.98, 0.98, 0.98, 0.98)
HEALTHY: list[list[Event]] = [
    run(0.02, 0.02, 0.02, 0.02),
    run(1.0, 1.0, 1.0, 1.0),  # a plain copy
    run(0.98, 0.02, 0.98, 0.98),
    run(0.9, 0.8, 0.7, 0.6, first=2),  # warm-up
    run(0.98, 0.98),
]
