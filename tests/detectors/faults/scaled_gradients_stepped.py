from tests.detectors.rehearsal import Rehearsal


def run(**facts):
    play = Rehearsal()
    play.optimizer(1, 2, kind="SGD")
    for _ in range(5):
        play.batch(kind="SGD", **facts)
    return play.end()


EVENTS = run(scaled=True)
HEALTHY = [run(), run(scaled=True, touched=True)]
