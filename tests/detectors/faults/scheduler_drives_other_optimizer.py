from tests.detectors.rehearsal import Rehearsal


def run(*, driven=1, second=(1, 2), decay=1.0):
    """Optimizer 1 made way for optimizer 2; the scheduler holds the optimizer `driven`."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    play.optimizer(*second, key=2, at=12)
    play.schedule("StepLR", optimizer=driven)
    rate = 0.001
    for _ in range(6):
        for _ in range(3):
            play.zero(2)
            play.forward()
            play.loss()
            play.backward(2)
            play.stepped(2, lrs=(rate,))
            rate *= decay
        play.scheduled(0.001, 0.001)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(driven=2),
    run(second=(3, 4)),  # it trains something else
    run(decay=0.9),  # its rate is moved in another way
]
