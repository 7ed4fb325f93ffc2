import math

from tests.detectors.rehearsal import Rehearsal


def run(horizon, *, per_batch=False, reason="finished"):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("CosineAnnealingLR", horizon)

    def rate(position):
        return 0.0005 * (1 + math.cos(math.pi * position / horizon))

    calls = 0
    for _ in play.epochs(6, batches=10):
        for batch in range(10):
            play.batch(lrs=(rate(calls),))
            if per_batch or batch == 9:
                play.scheduled(rate(calls), rate(calls + 1))
                calls += 1
    return play.end(reason=reason)


def rested(*, gap):
    """The last 90 of 120 steps are in no event, as in a run that rests to its end. The schedule is called every `gap` steps."""
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("CosineAnnealingLR", 120)
    for step in range(1, 31):
        play.batch(lrs=(0.0005,))
        if step % gap == 0:
            play.scheduled(0.0005, 0.0004)
    play.step = 120
    return play.end(reason="finished")


EVENTS = run(60)
RESTED = rested(gap=10)
HEALTHY = [
    run(60, per_batch=True),
    run(6),
    run(100),  # its length has nothing to do with the number of batches
    run(60, reason="interrupted"),
    rested(gap=1),
]
