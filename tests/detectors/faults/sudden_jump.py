"""A gradient norm that leaps, and ones that wander, fall or begin high."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(norms: list[float]) -> list[Event]:
    play = Rehearsal()
    for norm in norms:
        play.batch()
        play.stats(loss=1.0, grad_norm=norm)
    return play.end()


def wandering(size: float = 1.0) -> list[float]:
    return [size * (1 + 0.4 * ((7 * i) % 5 - 2) / 2) for i in range(80)]


EVENTS = run([*wandering(), 90.0, *wandering()])
HEALTHY: list[list[Event]] = [
    run(wandering()),
    run([100.0 * 0.95**i for i in range(120)]),
    run([50.0, 40.0, *wandering()]),
    run([*wandering(), 4.0, *wandering()]),
]
