from premortem.events import OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, line

EMPTY = "optimizer got an empty parameter list"


def run(*, crashed):
    play = Rehearsal()
    play.add(OptimizerBuilt(at=line(8), optimizer=1, kind="Adam", groups=(), error=EMPTY))
    if crashed:
        return play.end(reason="crashed", error="ValueError", message=EMPTY)
    play.optimizer(1, 2)
    play.batch()
    return play.end()


EVENTS = run(crashed=True)
HEALTHY = run(crashed=False)
