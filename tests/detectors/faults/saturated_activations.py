from premortem.events import StateLoaded
from tests.detectors.rehearsal import Rehearsal


def run(*, share=lambda step: 0.9, loaded=False, hidden=True, scale=1.0):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    if loaded:
        play.add(StateLoaded(target="module", key=1, name="model", strict=True, given=2, wanted=2, matched=2))
    for step in range(8):
        play.zero()
        play.forward()
        play.layer("model.0", order=0, input_std=scale)
        if hidden:
            play.layer("model.1", "tanh", saturated=share(step))
        play.layer("model.2", order=1, last=True)
        if not hidden:
            play.layer("model.3", "tanh", saturated=share(step))
        play.loss(classes={0.0: 16, 1.0: 16})
        play.backward()
        play.stepped()
    return play.end()


def counted(*, sum_error=None):
    """The likelihood of counts: a row of them weighs 40 times as much as one label."""
    play = Rehearsal()
    play.optimizer(1)
    for _ in range(120):
        play.zero()
        play.forward()
        play.loss(55.0, target_sum_error=sum_error)
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(share=lambda step: 0.1),
    run(share=lambda step: min(1.0, 0.3 * step)),  # not by initialisation
    run(loaded=True),
    run(hidden=False),  # the output
    run(scale=300.0),  # the inputs are the cause
    counted(sum_error=39.0),
]
