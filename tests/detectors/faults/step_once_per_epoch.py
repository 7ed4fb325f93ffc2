from premortem.events import EpochEnded, EpochStarted
from tests.detectors.rehearsal import Rehearsal


def run(*, scale=1.0, batches=20, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(4):
        play.zero()
        play.add(EpochStarted(step=play.step, loader=1))
        for _ in range(batches):
            play.forward()
            play.loss()
            play.backward(scale=scale)
        play.add(EpochEnded(step=play.step, loader=1, batches=batches))
        play.stepped(backwards=batches, pending=batches, **facts)
    return play.end()


EVENTS = run()
HEALTHY = [run(scale=1 / 20), run(batches=4), run(touched=True), run(gated=True)]
