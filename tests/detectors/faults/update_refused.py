"""One bad batch among good ones."""

from premortem.events import Event, StepRefused
from tests.detectors.rehearsal import Rehearsal


def refused(play: Rehearsal, row: int = 1, total: int = 1) -> StepRefused:
    return StepRefused(
        step=play.step,
        optimizer=1,
        reason="gradient",
        loss=float("nan"),
        worst=1,
        row=row,
        total=total,
        made=play.step,
        batches=(12, 12),
    )


def run(rates: list[float]) -> list[Event]:
    play = Rehearsal()
    play.model("fc.weight")
    play.optimizer(1)
    for rate in rates:
        play.batch(lrs=(rate,))
    play.add(refused(play))
    return play.end()


EVENTS = run([0.001] * 12)
HEALTHY: list[list[Event]] = [
    [event for event in EVENTS if not isinstance(event, StepRefused)],
    run([1e-5 * 1.3**i for i in range(40)]),  # a range test finds the limit
]
