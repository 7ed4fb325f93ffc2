"""A model with `frozen_stages=1`, all of which moves; and one in which the first stage stays."""

from premortem.events import Event, SaidFrozen
from tests.detectors.rehearsal import Rehearsal, link


def run(first_moves: bool) -> list[Event]:
    play = Rehearsal()
    play.model("stage1.weight", "head.weight", frozen=(SaidFrozen("model.frozen_stages", "1", (1, 2)),))
    play.optimizer(1, 2)
    for _ in range(4):
        play.batch()
        play.custody(link(1, "model.stage1.weight", moved=first_moves), link(2, "model.head.weight"))
    return play.end()


EVENTS = run(first_moves=True)
HEALTHY: list[list[Event]] = [run(first_moves=False)]
