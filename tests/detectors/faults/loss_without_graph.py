from tests.detectors.rehearsal import Rehearsal

MESSAGE = "element 0 of tensors does not require grad and does not have a grad_fn"


def crashed():
    play = Rehearsal()
    play.model("weight", "bias", trainable=False)
    play.optimizer(1, 2)
    play.forward()
    play.loss()
    play.backward(error=MESSAGE)
    return play.end(reason="crashed", error="RuntimeError", message=MESSAGE)


def made_anew(*, lost=True):
    play = Rehearsal()
    play.model("weight", "bias")
    play.optimizer(1, 2)
    for _ in range(4):
        play.zero()
        play.forward()
        play.loss()
        play.cut("item", 1, 2, at=21)
        if lost:
            play.walk(other_leaves=1)
            play.backward(9)
            play.stepped(backwards=0, with_grad=0, pending=0)
        else:
            play.walk(1, 2)
            play.backward()
            play.stepped()
    return play.end()


EVENTS = made_anew()
HEALTHY = [made_anew(lost=False)]
CRASHED = crashed()
