from tests.detectors.rehearsal import Rehearsal


def run(*, twice):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(6):
        play.batch()
        if twice:
            play.stepped(backwards=0, reused=True)
    return play.end()


def flushed_once():
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(6):
        play.batch()
    play.stepped(backwards=0, reused=True)
    return play.end()


EVENTS = run(twice=True)
HEALTHY = [run(twice=False), flushed_once()]
