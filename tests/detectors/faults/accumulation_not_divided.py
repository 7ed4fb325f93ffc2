from premortem.events import LoaderBuilt
from tests.detectors.rehearsal import Rehearsal, line


def run(*, k=4, scale=1.0, gated=True, reduction="mean", epoch=100, divided=(), **facts):
    play = Rehearsal()
    of_it = {"samples": 8 * epoch, "batch_size": 8, "shuffle": True, "drop_last": False, "workers": 0}
    play.add(LoaderBuilt(step=0, at=line(5), loader=1, batches=epoch, **of_it))
    play.optimizer(1, 2, kind="SGD")
    for _ in range(6):
        play.zero()
        for _ in range(k):
            play.forward()
            play.loss(reduction=reduction)
            play.backward(scale=scale, divided=divided)
        play.stepped(kind="SGD", backwards=k, pending=k, gated=gated, **facts)
    return play.end()


EVENTS = run()
BY_THE_EPOCH = run(scale=1 / 100)
TWICE = run(scale=1 / 16, divided=(4, 4))
HEALTHY = [
    run(scale=1 / 16, divided=(4,)),  # and a quarter of a term
    run(scale=0.25),
    run(k=0),  # no gradients at all
    run(k=1),
    run(k=1, scale=1 / 100),
    run(scale=1 / 120),  # somebody's factor
    run(scale=1 / 8, epoch=8),
    run(gated=False),  # the tasks of one step
    run(reduction="sum"),
    run(touched=True),  # the gradients are divided before the step
]
