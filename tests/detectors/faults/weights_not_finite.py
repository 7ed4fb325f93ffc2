from premortem.events import WeightsBroken
from tests.detectors.rehearsal import Rehearsal, line


def run(*, broken=True, loss=0.5):
    """An average of the weights that holds infinity since its first step, evaluated after an epoch."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for _ in range(6):
        play.batch()
        play.stats(loss)
    if broken:
        play.add(WeightsBroken(step=play.step, at=line(30), parameter="ema.0.weight", evaluated=True))
    play.forward(grad=False, training=False)
    return play.end()


EVENTS = run()
HEALTHY = [run(broken=False)]
