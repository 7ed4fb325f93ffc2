"""The term of a teacher is computed and left out of the sum."""

from typing import Any

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(steps: int = 6, **facts: Any) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for _ in range(steps):
        play.batch()
        play.loss(0.4, "kl_div", at=30, **{"unread": "soft", **facts})
        play.stats(0.1)
    return play.end()


EVENTS = run()
HEALTHY: list[list[Event]] = [run(unread=""), run(grad=False), run(2)]
