"""The teacher's scores are given to the distillation loss in both places."""

from typing import Any

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(steps: int = 30, *, other: int = -1, first: int = 0, **facts: Any) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for step in range(steps):
        play.batch()
        same = step != other and step >= first
        play.loss(0.0, "kl_div", at=30, **{"identical": same, "target_std": 1.0, "grad": False, **facts})
        play.stats(0.1)
    return play.end()


EVENTS = run()
HEALTHY: list[list[Event]] = [
    run(other=5),
    run(first=1000),
    run(15),  # a student that begins as its teacher
    run(target_std=None),  # not looked at
    run(target_is_input=True),
    run(training=False),
]
