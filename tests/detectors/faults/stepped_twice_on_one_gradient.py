from tests.detectors.rehearsal import Rehearsal


def run(*, backward_between=False, shared=True):
    play = Rehearsal()
    play.model("table.weight", "net.weight", "out.weight")
    play.optimizer(1, key=1, kind="SGD", at=10)
    play.optimizer(*((1, 2, 3) if shared else (2, 3)), key=2, at=11)
    for _ in range(6):
        play.zero(1)
        play.zero(2)
        play.forward()
        play.loss()
        play.backward(1, 2)
        play.stepped(1, kind="SGD")
        if backward_between:
            play.backward(1, 2)
        play.stepped(2)
    return play.end()


EVENTS = run()
HEALTHY = [run(backward_between=True), run(shared=False)]
