"""A scaler that never finds a level, and one that does after a few refusals."""

from premortem.events import Event, ScalerUpdate
from tests.detectors.rehearsal import Rehearsal


def run(scales: list[float]) -> list[Event]:
    play = Rehearsal()
    before = 65536.0 * 2
    for scale in scales:
        play.batch()
        play.add(ScalerUpdate(step=play.step, scale=scale, skipped=scale < before))
        before = scale
    return play.end()


EVENTS = run([65536.0 / 2**i for i in range(40)])
HEALTHY: list[list[Event]] = [
    run([65536.0 / 2**i for i in range(9)] + [256.0] * 40),
    run([1.0] * 60),
]
