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


def pair(*, backward=False, called=True, one_loss=False, other=True):
    """A judge that is trained, and a maker whose backward pass is missing."""
    play = Rehearsal()
    play.model("0.weight", key=1, name="maker", first=1)
    play.model("0.weight", key=2, name="judge", first=11)
    play.optimizer(1, key=1)
    play.optimizer(11, key=2)
    for _ in range(6):
        play.forward(1)
        play.forward(2)
        play.zero(2)
        if other:
            play.backward(2)
        play.stepped(2)
        if called:
            play.forward(1)
        play.zero(1)
        if backward or one_loss:
            play.backward(1 if backward else 2)
        facts = {} if backward else {"with_grad": 0, "backwards": 0, "pending": 0}
        play.stepped(1, parameters=2, **facts)
    return play.end()


EVENTS = run()
OF_ONE = pair()
HEALTHY = [
    pair(backward=True),
    pair(called=False),  # two optimizers after one loss, which does not reach the second
    pair(one_loss=True),  # what it made was detached
    run(backward=True),
    run(grad=False),
    run(closure=True),
    run(by_hand=True),
    run(steps=2),
]
