from tests.detectors.rehearsal import Rehearsal


def run(values, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for value in values:
        play.zero()
        play.forward()
        play.backward(value=value, **facts)
        play.stepped()
    return play.end()


FALLING = [*[0.5] * 10, *[-(1.3**i) for i in range(60)]]

EVENTS = run(FALLING)
HEALTHY = [
    run([0.99**i for i in range(70)]),
    run([1.0 - 0.5 * i for i in range(70)]),  # a log-likelihood below zero
    run([0.5 - 3e4 * (i % 2) for i in range(70)]),  # it always turns back
    run(FALLING, scaled=True),
    run([*[0.5] * 10, float("nan"), *[0.4] * 60]),
]
