from tests.detectors.rehearsal import Rehearsal

MESSAGE = "Trying to backward through the graph a second time (or directly access saved tensors ...)"


def run(*, crashed):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.batch()
    play.forward()
    play.backward(error=MESSAGE)
    if crashed:
        return play.end(reason="crashed", error="RuntimeError", message=MESSAGE)
    play.batch()
    return play.end()


EVENTS = run(crashed=True)
HEALTHY = run(crashed=False)
