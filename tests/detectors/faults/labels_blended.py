from premortem.events import Blended
from tests.detectors.rehearsal import Rehearsal, line


def run(*, fn="cross_entropy", shape=(20, 20), times=6, target=(10, 20, 20)):
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(6):
        if step < times:
            play.add(Blended(step=play.step, at=line(34), mode="bilinear", values=4, shape=shape))
        play.zero()
        play.forward()
        play.loss(fn=fn, target_shape=target)
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(fn="mse_loss"),  # heights
    run(shape=(64, 64)),  # something else
    run(times=2),
    run(target=(10,)),
]
