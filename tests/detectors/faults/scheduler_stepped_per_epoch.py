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


EVENTS = run(60)
HEALTHY = [
    run(60, per_batch=True),
    run(6),
    run(100),  # its length has nothing to do with the number of batches
    run(60, reason="interrupted"),
]
