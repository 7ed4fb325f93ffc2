from tests.detectors.rehearsal import Rehearsal


def run(*, crossed=(), steps=4):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss()
        play.walk(1, 2, crossed=crossed)
        play.backward()
        play.stepped()
    return play.end()


CROSSED = (((32, 20, 20), 1),)

EVENTS = run(crossed=CROSSED)
HEALTHY = [run(), run(crossed=CROSSED, steps=2)]
