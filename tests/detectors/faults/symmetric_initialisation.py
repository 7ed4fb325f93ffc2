from tests.detectors.rehearsal import Rehearsal, link


def run(*, first=lambda step: 1.0, last=0.0, **facts):
    """`first` and `last`: which share of the units of that layer are copies of each other."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for step in range(8):
        play.zero()
        play.forward()
        play.layer("model.0", order=0, twins=first(step))
        play.layer("model.2", order=1, last=True, twins=last)
        play.loss()
        play.backward()
        play.stepped()
        play.custody(link(1, "model.0.weight", **facts), link(2, "model.2.weight", head=True))
    return play.end()


def zeros(*, start=0.0, gradient=0.0, looks=8, nonzero=0):
    """Custom layers, of whose units nothing is known: all weights are zero, but for `nonzero` more matrices."""
    play = Rehearsal()
    play.model(*(f"{number}.W" for number in range(2 + nonzero)))
    play.optimizer(*range(1, 3 + nonzero))
    for look in range(8):
        play.batch()
        facts = {"start": start, "gradient": gradient} if look < looks else {"start": 1.0}
        silent = [link(key, f"model.{key - 1}.W", moved=False, **facts) for key in (1, 2)]
        play.custody(*silent, *(link(key, f"model.{key - 1}.W", start=1.0) for key in range(3, 3 + nonzero)))
    return play.end()


EVENTS = run()
ZEROS = zeros()
HEALTHY = [
    zeros(gradient=0.1),  # branches that begin at zero
    zeros(start=1.0),  # gradients that vanish are another matter
    zeros(looks=3),
    zeros(nonzero=3),  # tables that are not looked up
    run(first=lambda step: 0.0),
    run(first=lambda step: float(step == 0)),  # they come apart
    run(first=lambda step: 0.0, last=1.0),  # the output layer may start at zero
    run(trainable=False, graded=False, gradient=None, moved=False),
]
