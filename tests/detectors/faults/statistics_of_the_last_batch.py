"""A batch norm with the momentum of another framework, and an evaluation in eval mode."""

from typing import Any

from premortem.events import Event, Hasty
from tests.detectors.rehearsal import Rehearsal


def run(*, steps: int = 40, hasty: bool = True, evaluated: bool = True, **facts: Any) -> list[Event]:
    play = Rehearsal()
    play.model("bn.weight", hasty=(Hasty("model.bn", 0.99),) if hasty else ())
    play.optimizer(1)
    for _ in range(steps):
        play.forward(noisy_train=1, **facts)
        play.step += 1
    if evaluated:
        play.forward(training=False, noisy_eval=1, grad=False, tracked=False)
    return play.end()


EVENTS = run()
HEALTHY: list[list[Event]] = [
    run(hasty=False),
    run(evaluated=False),
    run(same_object=True),  # one batch is all there is
    run(steps=4),
]
