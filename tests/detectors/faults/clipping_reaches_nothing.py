from premortem.events import Clip
from tests.detectors.rehearsal import Rehearsal, line


def run(norm, seen=5.0):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(24):
        play.zero()
        play.forward()
        play.loss()
        play.backward()
        play.add(Clip(step=play.step, at=line(23), kind="norm", limit=1.0, norm=norm))
        play.stepped()
        play.stats(grad_norm=seen)
    return play.end()


EVENTS = run(norm=0.0)
HEALTHY = [
    run(norm=5.0),
    run(norm=0.0, seen=0.5),  # nothing that clipping would have changed
]
