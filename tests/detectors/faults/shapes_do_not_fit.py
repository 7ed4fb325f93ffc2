from tests.detectors.rehearsal import Rehearsal, line

MESSAGE = "mat1 and mat2 shapes cannot be multiplied (32x64 and 128x10)"


def run(**facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.batch()
    play.batch()
    return play.end(at=line(20), **facts)


EVENTS = run(reason="crashed", error="RuntimeError", message=MESSAGE)
HEALTHY = [
    run(),
    run(reason="crashed", error="RuntimeError", message="CUDA out of memory. Tried to allocate 2.00 GiB"),
    run(reason="crashed", error="KeyError", message="'size mismatch'"),
    run(reason="interrupted"),
]
