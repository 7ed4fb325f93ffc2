from tests.detectors.rehearsal import Rehearsal


def run(*, between):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(5):
        if not between:
            play.zero()
        play.forward()
        play.loss()
        play.backward()
        if between:
            play.zero(wasted=(1,))
        play.stepped(emptied=between)
    return play.end()


EVENTS = run(between=True)
HEALTHY = run(between=False)
