from tests.detectors.rehearsal import Rehearsal


def run(*, detached=False, cleared=False):
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for _ in range(6):
        play.zero(1)
        play.zero(2)
        play.forward(1)
        play.forward(2)
        play.forward(2, source=1)
        play.backward(*((2,) if detached else (1, 2)), at=30)
        play.stepped(2)
        if cleared:
            play.zero(1)
        play.forward(1)
        play.forward(2, source=1)
        play.backward(1, 2, at=35)
        both = not detached and not cleared
        play.stepped(1, backwards=2 if both else 1, pending=2 if both else 1)
    return play.end()


EVENTS = run()
HEALTHY = [run(detached=True), run(cleared=True)]
