"""A loss that is infinite in one step while the gradients are sound; broken gradients are another diagnosis."""

import math

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(loss: float, worst: int | None = None, rates: float = 1.0) -> list[Event]:
    play = Rehearsal()
    rate = 0.001
    for step in range(30):
        play.batch()
        play.stats(loss=loss if step == 20 else 1.0, worst=worst if step == 20 else None, lr=rate)
        rate *= rates
    return play.end()


EVENTS = run(math.inf)
HEALTHY: list[list[Event]] = [run(1.0), run(math.nan, worst=1), run(math.inf, rates=1.3)]
