"""The noise of a generator was drawn once, before the loop."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(rounds: int = 50, *, fresh: bool = False, moving: bool = True, noise: bool = True) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for each in range(rounds):
        play.forward(1, fingerprint=each if fresh else 7, noise=noise)
        play.forward(2, fingerprint=100 + (each if moving else 0))
        play.forward(2, source=1, fingerprint=1000)
        play.backward(11, 12)
        play.stepped(2)
        play.forward(2, source=1, fingerprint=1000)
        play.backward(1, 2)
        play.stepped(1)
    return play.end()


EVENTS = run()
HEALTHY: list[list[Event]] = [
    run(fresh=True),
    run(moving=False),
    run(20),
    run(noise=False),
]  # the last: a graph, given whole
