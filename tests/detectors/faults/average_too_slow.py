"""An average with a decay for runs a hundred times as long."""

from premortem.events import CopyFollowed, Event, RunEnded


def run(moved: float, steps: int = 500, reason: str = "finished") -> list[Event]:
    seen = [
        CopyFollowed(step=at, name="ema", original=1, moved=moved, way=1 - (1 - moved) ** at)
        for at in (4, 8, 64, 256)
        if at < steps
    ]
    return [*seen, RunEnded(step=steps, reason=reason)]


EVENTS = run(1e-5)
HEALTHY: list[list[Event]] = [
    run(0.001),
    run(1e-4),
    run(0.0),  # a fixed reference
    run(1e-5, steps=100),
    run(1e-5, reason="interrupted"),
]
