from tests.detectors.rehearsal import Rehearsal


def run(*, every, **facts):
    """zero_grad() before every `every`-th step; the first step always starts from nothing."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for number in range(12):
        cleared = number == 0 or (every and number % every == 0)
        if every and number % every == 0:
            play.zero()
        play.forward()
        play.loss()
        play.backward()
        play.stepped(cleared=cleared, **facts)
    return play.end()


EVENTS = run(every=0)
HEALTHY = [run(every=1), run(every=2), run(every=0, closure=True), run(every=0, backwards=0)]
