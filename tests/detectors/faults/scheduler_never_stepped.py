from tests.detectors.rehearsal import Rehearsal


def run(*, called=False, epochs=5, parts=(), decay=1.0, reason="finished", refused=False):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("CosineAnnealingLR", 5)
    if parts:
        play.schedule("SequentialLR", key=2, parts=parts)
    rate = 0.001
    for _ in play.epochs(epochs, batches=10):
        for _ in range(10):
            play.batch(lrs=(rate,), refused=refused)
            rate *= decay
        if called:
            play.scheduled(0.001, 0.001, key=2 if parts else 1)
    return play.end(reason=reason)


EVENTS = run()
HEALTHY = [
    run(called=True),
    run(called=True, parts=(1,)),  # another one steps it
    run(epochs=2),
    run(decay=0.99),  # the script moves the rate itself
    run(reason="interrupted"),
    run(refused=True),  # it was called, and held back: the steps were refused
]
