from tests.detectors.rehearsal import Rehearsal

MESSAGE = (
    "one of the variables needed for gradient computation has been modified by an inplace operation: ..."
)


def run(*, crashed):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.batch()
    play.forward()
    play.loss()
    play.stepped(at=25)
    play.backward(error=MESSAGE)
    if crashed:
        return play.end(reason="crashed", error="RuntimeError", message=MESSAGE)
    play.batch()
    return play.end()


EVENTS = run(crashed=True)
HEALTHY = run(crashed=False)
