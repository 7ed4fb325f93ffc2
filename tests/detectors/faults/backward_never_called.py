from premortem.events import OptimizerStep
from tests.detectors.rehearsal import Rehearsal


def run(*, backward=False, grad=True, closure=False, by_hand=False, steps=6):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward(grad=grad)
        play.loss()
        if backward:
            play.backward()
        play.step += 1
        play.add(
            OptimizerStep(
                step=play.step,
                optimizer=1,
                kind="Adam",
                lrs=(0.1,),
                parameters=2,
                with_grad=2 if backward or by_hand else 0,
                backwards=int(backward),
                touched=by_hand,
                closure=closure,
            )
        )
    return play.end()


EVENTS = run()
HEALTHY = [run(backward=True), run(grad=False), run(closure=True), run(by_hand=True), run(steps=2)]
