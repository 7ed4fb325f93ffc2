from premortem.events import Clip
from tests.detectors.rehearsal import Rehearsal, line, link


def run(*, limit=1e-4, update=1e-6, fall=1.0, eps=0.0, steps=40):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2, kind="Adam" if eps else "SGD", eps=eps)
    value = 2.3
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(value)
        play.backward()
        play.add(Clip(step=play.step, at=line(23), kind="norm", limit=limit, norm=5.0))
        play.stepped(kind="SGD")
        play.custody(link(1, "model.0.weight", update=update), link(2, "model.2.weight", update=update))
        play.stats(value, grad_norm=min(limit, 5.0), keys=(1, 2))
        value *= fall
    return play.end()


EVENTS = run()
BELOW_EPS = run(limit=1e-8, update=0.01, fall=0.98, eps=1e-8)
BELOW_EPS_SOON = run(limit=1e-8, update=0.01, fall=0.98, eps=1e-8, steps=6)
HOPELESS = run(limit=1e-9, update=1e-9, fall=0.9, steps=8)  # a million such steps would not get anywhere
HEALTHY = [
    run(steps=20),
    run(limit=1.0),  # the usual limit, reached in every step
    run(fall=0.98),  # normalised descent
    run(update=0.01),  # an adaptive optimizer does not mind
    run(update=0.01, fall=0.98, eps=1e-8),  # ... as long as more than its eps is left
    run(limit=1e-8, update=0.01, fall=0.98, eps=1e-3),  # damped on purpose
]
