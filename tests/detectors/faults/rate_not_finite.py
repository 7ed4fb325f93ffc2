"""A schedule leaves its range: the rate of the 41st step is NaN, and all later ones."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal, line

NAN = float("nan")


def run(rate: float, broken: float | None) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for step in range(44):
        play.batch()
        late = step >= 40
        play.stepped(
            lrs=(rate if late else 0.1,),
            broken_rate=broken if late else None,
            rate_at=line(13) if late and broken is not None else None,
        )
    return play.end()


EVENTS = run(NAN, NAN)
HEALTHY: list[list[Event]] = [
    run(NAN, None),  # it is a tensor on a GPU, or the optimizer has none: not known
    run(0.0, None),
    run(1e6, None),
]
