"""A bootstrapped target without `detach()`."""

from typing import Any

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(*promised: bool, **facts: Any) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for each in promised:
        play.loss(0.1, "mse_loss", at=30, promised=each, **{"parameters": (1,), **facts})
        play.step += 1
    return play.end()


EVENTS = run(True, True, True, True)
HEALTHY: list[list[Event]] = [
    run(False, False, False, False),
    run(True, True, False, True, True),
    run(True, True, True, parameters=()),  # not read
    run(True, True),
]
