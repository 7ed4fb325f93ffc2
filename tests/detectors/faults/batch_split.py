from premortem.events import BatchSplit
from tests.detectors.rehearsal import Rehearsal


def run(split):
    play = Rehearsal()
    play.model("fc.weight")
    play.optimizer(1)
    for number in range(6):
        if split and number == 3:
            play.add(BatchSplit(step=play.step, model=1, name="model", phase="forward", samples=32, parts=2))
        play.batch()
    return play.end()


EVENTS = run(split=True)
HEALTHY = run(split=False)
