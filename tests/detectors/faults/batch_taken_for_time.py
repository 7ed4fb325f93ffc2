from premortem.events import SequenceLayer
from tests.detectors.rehearsal import Rehearsal, line


def run(*, shape=(32, 20, 8), target=(32,), steps=4):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.add(
            SequenceLayer(
                step=play.step, at=line(14, "forward"), model=1, layer="model.lstm", kind="LSTM", shape=shape
            )
        )
        play.loss(target_shape=target)
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(shape=(20, 32, 8)),  # time first, as it wants it
    run(shape=(32, 32, 8)),
    run(target=(32, 20)),  # a target for every moment
    run(shape=(1, 20, 8), target=(1,)),
    run(steps=2),
]
