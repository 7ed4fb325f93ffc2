from premortem.events import Kept, OutOfMemory
from tests.detectors.rehearsal import Rehearsal, line

GIB = 1 << 30


def run(reason="crashed", error="OutOfMemoryError", goes_on=False, **facts):
    play = Rehearsal()
    play.model("fc.weight")
    play.optimizer(1)
    for _ in range(4):
        play.batch()
    usual = {"phase": "forward", "module": "model.fc", "samples": 32, "requested": GIB, "total": 8 * GIB}
    play.add(OutOfMemory(step=play.step, at=line(20), **{**usual, **facts}))
    if goes_on:
        play.batch()
    return play.end(reason=reason, error=error)


EVENTS = run(
    allocated=6 * GIB,
    reserved=7 * GIB,
    free=0,
    kinds={"parameters": GIB},
    modules=(("model.fc", 2 * GIB),),
    levels=tuple((step, GIB + step * GIB // 20) for step in range(12)),
    kept=(Kept("history", 40, 40, GIB, line(25)),),
)
HEALTHY = [
    run("finished", "", goes_on=True),  # the script caught it: `info` at most
    run("crashed", "KeyError", goes_on=True),
]
