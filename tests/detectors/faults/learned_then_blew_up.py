"""A loss that had learned and leaps away for good, and ones that come back, were given a new term, or are tested for their rate."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(losses: list[float], norms: list[float] | None = None, *, rise: float = 1.0) -> list[Event]:
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    rate = 0.001
    for number, loss in enumerate(losses):
        play.batch()
        play.stepped(lrs=(rate,))
        play.stats(loss=loss, grad_norm=norms[number] if norms else loss)
        rate *= rise
    return play.end()


def learning(count: int = 100) -> list[float]:
    return [max(0.05, 0.4 * 0.97**i) * (1 + 0.1 * ((7 * i) % 5 - 2) / 2) for i in range(count)]


def ruins(count: int = 60) -> list[float]:
    return [3.0 + 900.0 * 0.9**i for i in range(count)]


EVENTS = run([*learning(), *ruins()])
HEALTHY: list[list[Event]] = [
    run(learning(200)),
    run([*learning(), 900.0, 300.0, *learning()]),  # one bad batch
    run([*learning(), *ruins(20), *learning()]),  # it came back
    run([*learning(), *[6.0 + 0.1 * (i % 3) for i in range(60)]]),  # another term was added
    run([*learning(), *ruins()], rise=1.1),  # a range test
    run([5.0 + 0.01 * (i % 7) for i in range(100)] + ruins()),  # it had learned nothing: others tell that
    run([-loss for loss in learning()] + ruins()),
    run([0.3 * 1.03**i * (1 + 0.3 * (i % 3)) for i in range(250)]),  # it grows, without a leap
]
