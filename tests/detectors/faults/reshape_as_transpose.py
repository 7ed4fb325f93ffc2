from premortem.events import Reshaped
from tests.detectors.rehearsal import Rehearsal, line


def run(*, steps=4, times=1, last=None, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    usual = {"op": "view", "before": (32, 20, 9), "after": (32, 9, 20), **facts}
    for step in range(steps):
        for _ in range(times):
            play.add(Reshaped(step=play.step, at=line(14, "forward"), **usual))
        if last is not None and step == 1:
            play.add(Reshaped(step=play.step, at=line(14, "forward"), **{**usual, **last}))
        play.batch()
    return play.end()


EVENTS = run()
MIXED = run(before=(2, 32, 16), after=(32, 32), mixes=True)
MERGED = run(before=(24, 4, 14, 8), after=(24, 14, 32), mixes=True)
JOINED = run(before=(24, 16, 4, 5, 5), after=(96, 16, 25), mixes=True)
SQUEEZED = run(before=(32, 24, 1, 9), after=(32, 9, 24))
REGROUPED = run(before=(32, 20, 10), after=(32, 10, 20))
HEALTHY = [
    run(steps=1, times=5),  # only once in the run
    run(plain=True),
    run(last={"before": (32, 18, 10), "after": (32, 9, 20), "plain": True}),  # the sizes met by chance
]
