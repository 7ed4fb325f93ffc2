from tests.detectors.rehearsal import Rehearsal


def run(stray):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(4):
        play.batch(stray=stray)
    return play.end()


EVENTS = run(stray=0.1)
HEALTHY = [
    run(stray=None),
    run(stray=0.001),  # it says what the groups say
]
