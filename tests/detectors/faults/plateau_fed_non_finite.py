import math

from tests.detectors.rehearsal import Rehearsal


def run(*metrics, loss=None):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("ReduceLROnPlateau", mode="min")
    for metric in metrics:
        for _ in range(3):
            play.zero()
            play.forward()
            play.loss(loss)
            play.backward()
            play.stepped()
        play.scheduled(0.001, 0.001, metric=metric)
    return play.end()


EVENTS = run(0.9, math.nan, math.nan, math.nan)
HEALTHY = [
    run(0.9, 0.8, 0.7, 0.6),
    run(0.9, math.nan, 0.7, 0.6),
    run(math.inf, math.inf, math.inf),  # the PSNR of a perfect image
    run(math.nan, math.nan, math.nan, loss=math.nan),  # training itself is broken
]
