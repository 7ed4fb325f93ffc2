from premortem.events import OptimizerStep, ScalerUpdate
from tests.detectors.rehearsal import Rehearsal


def run(*, batches=20, by_hand=False, refused=False, inputs=False):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(batches):
        play.zero(wasted=(1,))
        play.forward()
        play.loss()
        play.walk(1, 2, other_leaves=int(inputs))
        play.backward()
        if refused:
            play.add(ScalerUpdate(step=play.step, scale=1024.0, skipped=True))
        if by_hand:
            play.step += 1
            play.add(OptimizerStep(step=play.step, optimizer=0, kind="by hand", lrs=()))
    return play.end()


def second_for_later():
    """An optimizer of a later phase is built at once; the first one steps the same parameters."""
    play = Rehearsal()
    play.optimizer(1, 2, key=1)
    play.optimizer(1, 2, key=2, kind="LBFGS")
    for _ in range(20):
        play.zero(1, wasted=(2,), cleared=(1, 2))
        play.forward()
        play.loss()
        play.backward(1, 2)
        play.stepped(1)
    return play.end()


EVENTS = run()
HEALTHY = [run(batches=3), run(by_hand=True), run(refused=True), run(inputs=True), second_for_later()]
