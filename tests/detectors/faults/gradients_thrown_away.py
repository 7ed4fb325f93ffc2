from premortem.events import ScalerUpdate
from tests.detectors.rehearsal import Rehearsal


def run(*, every, by_hand=False, refused=False):
    """zero_grad() for every batch, step() for every `every`-th."""
    play = Rehearsal()
    play.optimizer(1, 2)
    waiting = False
    for number in range(48):
        play.zero(wasted=(1,) if waiting else (), by_hand=by_hand)
        play.forward()
        play.loss()
        play.backward()
        waiting = (number + 1) % every != 0
        if refused and waiting:
            play.add(ScalerUpdate(step=play.step, scale=1024.0, skipped=True))
        if not waiting:
            play.stepped()
    return play.end()


def adversarial():
    """The generator's loss also gives the discriminator gradients, which are cleared before its own."""
    play = Rehearsal()
    play.optimizer(1, 2, key=1)
    play.optimizer(3, 4, key=2)
    for _ in range(30):
        play.zero(1, wasted=(1,))
        play.backward(1)
        play.stepped(1)
        play.zero(2)
        play.backward(1, 2, at=32)
        play.stepped(2)
    return play.end()


EVENTS = run(every=12)
HEALTHY = [
    run(every=1),
    run(every=12, by_hand=True),
    run(every=12, refused=True),
    run(every=2),
    adversarial(),
]
