"""The critic's value is not detached in the weight of the policy's log-probabilities."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(*weighed: bool) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight")
    play.optimizer(1)
    for each in weighed:
        play.batch()
        play.walk(1, ops=("Mean", "Mul"), weighed_by_error=each)
        play.backward(1)
        play.stats(0.1)
    return play.end()


EVENTS = run(True, True, True, True)
HEALTHY: list[list[Event]] = [run(False, False, False, False), run(True, True, False, True), run(True, True)]
