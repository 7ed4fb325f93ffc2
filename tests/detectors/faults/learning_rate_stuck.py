from tests.detectors.rehearsal import Rehearsal


def run(rates, rewritten=True):
    play = Rehearsal()
    play.optimizer(1, 2)
    for rate in rates:
        play.batch(lrs=(rate,), rewritten=rewritten)
    return play.end()


EVENTS = run([0.00001] * 60)
HEALTHY = [
    run([0.00001 * (step + 1) for step in range(60)]),  # a warm-up that moves
    run([0.001] * 60),
    run([0.00001] * 60, rewritten=False),  # lowered once, on purpose
]
