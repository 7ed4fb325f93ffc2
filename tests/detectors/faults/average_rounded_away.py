from premortem.events import DecayLost, NonFinite
from tests.detectors.rehearsal import Rehearsal, line

ORIGIN = NonFinite(
    step=0,
    at=line(28, "update"),
    stage="forward",
    value=None,
    op="mul",
    detail="mul of bfloat16 numbers, times 0.999,",
    made="no difference",
    dtype="bfloat16",
    located=True,
    watched=True,
)


def run(*, at=(2,)):
    """A teacher in bfloat16."""
    play = Rehearsal()
    play.model("net.weight")
    play.optimizer(1)
    for step in range(6):
        play.zero()
        play.forward()
        play.backward()
        play.stepped()
        if step in at:
            play.add(DecayLost(step=step, at=ORIGIN.at, origin=ORIGIN, factor=0.999, share=0.95))
        play.stats(0.5)
    return play.end()


EVENTS = run()
HEALTHY = [run(at=())]
