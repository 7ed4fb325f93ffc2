from premortem.events import Group, OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, line, link


def run(*groups, rates=lambda step: (0.0,), steps=25, **facts):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    built = tuple(Group(lr, 0.0, 0.9, held) for lr, held in groups)
    play.add(OptimizerBuilt(at=line(10), optimizer=1, kind="SGD", groups=built))
    for step in range(steps):
        play.batch(kind="SGD", lrs=rates(step))
        if step < 2:
            play.custody(link(1, "model.0.weight", **facts), link(2, "model.2.weight"))
    return play.end()


def control(*rates):
    """A line builds one optimizer after the other, with these rates."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    for key, rate in enumerate(rates, 1):
        groups = (Group(rate, 0.0, 0.9, (1, 2)),)
        play.add(OptimizerBuilt(at=line(10), optimizer=key, kind="SGD", groups=groups))
        for _ in range(60):
            play.zero(key)
            play.forward()
            play.loss(1.0)
            play.backward(key)
            play.stepped(key, kind="SGD", lrs=(rate,))
    return play.end()


EVENTS = run((0.0, (1, 2)))
SHORT = run((0.0, (1, 2)), steps=5)  # nothing has ever set a rate
HEALTHY = [
    control(0.1, 0.0),
    run((0.1, (1, 2)), rates=lambda step: (0.1,)),
    run((0.1, (1, 2)), rates=lambda step: (0.01 * step,)),  # a warm-up
    run((0.1, (1, 2)), rates=lambda step: (0.1 * max(0.0, 1 - step / 10),)),  # a decay that ends there
    run((0.0, (1,)), (0.1, (2,)), rates=lambda step: (0.0, 0.1), loaded=True),  # frozen by the rate
    run((0.0, (1, 2)), steps=2),
    run((0.1, (1, 2)), steps=10),  # built with one: a warm-up that had hardly begun
]
