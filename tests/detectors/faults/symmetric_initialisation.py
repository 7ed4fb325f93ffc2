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


EVENTS = run()
HEALTHY = [
    run(first=lambda step: 0.0),
    run(first=lambda step: float(step == 0)),  # they come apart
    run(first=lambda step: 0.0, last=1.0),  # the output layer may start at zero
    run(trainable=False, graded=False, gradient=None, moved=False),
]
