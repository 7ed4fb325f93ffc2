import math

from tests.detectors.rehearsal import Rehearsal


def cosine(position, horizon):
    return 0.0005 * (1 + math.cos(math.pi * position / horizon))


def run(horizon, epochs):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("CosineAnnealingLR", horizon)
    for epoch in play.epochs(epochs, batches=2):
        for _ in range(2):
            play.batch(lrs=(cosine(epoch, horizon),))
        play.scheduled(cosine(epoch, horizon), cosine(epoch + 1, horizon))
    return play.end()


EVENTS = run(10, 18)
HEALTHY = [
    run(18, 18),
    run(10, 11),  # a last call beyond the end
    run(10, 30),  # a cycle that ends low
]
