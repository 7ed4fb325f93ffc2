from tests.detectors.rehearsal import Rehearsal


def run(*counts, scale=0.25, reduction="mean", windows=6, samples=32):
    play = Rehearsal()
    play.optimizer(1, 2, kind="SGD")
    for _ in range(windows):
        play.zero()
        for counted in counts:
            play.forward(samples=samples)
            play.loss(reduction=reduction, counted=counted)
            play.backward(scale=scale)
        play.stepped(kind="SGD", backwards=len(counts), pending=len(counts))
    return play.end()


EVENTS = run(3, 40, 2, 35)
HEALTHY = [
    run(30, 40, 32, 35),
    run(3, 40, 2, 35, reduction="sum"),
    run(None, None, None, None),
    run(40, 2, scale=1.0, windows=2),
    run(40),
    run(3, 40, 2, 35, samples=1),  # a sequence each: they may be meant to weigh the same
    run(40, 40, 40, 3),  # one sequence in pieces, and its end
]
