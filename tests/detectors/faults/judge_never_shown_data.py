"""A discriminator that is given the generator's samples in the place of real ones."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(
    rounds: int = 50, *, real: bool = False, both_in_one: bool = False, domains: bool = False
) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for _ in range(rounds):
        play.forward(1)
        if real:
            play.forward(2)
        play.forward(2, source=1, fingerprint=7)
        play.forward(2, source=1, fingerprint=8 if domains else 7)
        play.backward(11, 12)
        play.stepped(2)
        if not both_in_one:
            play.forward(2, source=1)
        play.backward(1, 2)
        play.stepped(1)
    return play.end()


EVENTS = run()
HEALTHY: list[list[Event]] = [run(real=True), run(30), run(both_in_one=True), run(domains=True)]
