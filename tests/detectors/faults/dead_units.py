from tests.detectors.rehearsal import Rehearsal, line

AUDITED = (1, 2, 4, 8, 16, 32, 64)


def run(*, dead=lambda step: 1.0, norms=(0.0, 0.0, 0.1)):
    play = Rehearsal()
    play.model("0.weight", "2.weight", "4.weight")
    play.optimizer(1, 2, 3, kind="SGD")
    for step in AUDITED:
        play.step = step - 1
        play.zero()
        play.forward()
        play.layer("model.0", order=0)
        play.layer("model", "relu", dead=0.1, at=line(8, "forward"))
        play.layer("model.2", order=1)
        play.layer("model", "relu", dead=dead(step), at=line(9, "forward"))
        play.layer("model.4", order=2, last=True)
        play.loss(2.3)
        play.backward()
        play.stepped(kind="SGD", parameters=3, with_grad=3)
        play.stats(2.3, grad_norm=0.1, keys=(1, 2, 3), grad_norms=norms)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(dead=lambda step: 0.9, norms=(0.1, 0.1, 0.1)),  # sparse
    run(dead=lambda step: 1.0 if step < 8 else 0.5),  # it recovers
    run(norms=(0.1, 0.1, 0.1)),  # a residual connection goes past it
]
