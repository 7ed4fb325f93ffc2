from tests.detectors.rehearsal import Rehearsal


def run(*, attached, real=True):
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for _ in range(6):
        play.forward(1)
        play.cut("detach", 1, 2, at=30)
        play.zero(2)
        if real:
            play.forward(2)
        play.forward(2, source=1)
        play.backward(2)
        play.stepped(2)
        play.zero(1, cleared=())
        play.forward(2, source=1, at=33)
        if attached:
            play.backward(1, 2, at=34)
            play.stepped(1)
        else:
            play.backward(2, at=34)
            play.stepped(1, backwards=0, with_grad=0, pending=0)
    return play.end()


EVENTS = run(attached=False)
HEALTHY = [run(attached=True), run(attached=False, real=False)]
