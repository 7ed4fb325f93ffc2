from tests.detectors.rehearsal import Rehearsal


def run(*, k=4, scale=1.0, gated=True, reduction="mean", **facts):
    play = Rehearsal()
    play.optimizer(1, 2, kind="SGD")
    for _ in range(6):
        play.zero()
        for _ in range(k):
            play.forward()
            play.loss(reduction=reduction)
            play.backward(scale=scale)
        play.stepped(kind="SGD", backwards=k, pending=k, gated=gated, **facts)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(scale=0.25),
    run(k=1),
    run(gated=False),  # the tasks of one step
    run(reduction="sum"),
    run(touched=True),  # the gradients are divided before the step
]
