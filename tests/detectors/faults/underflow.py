from premortem.events import NonFinite, Underflowed
from tests.detectors.rehearsal import Rehearsal, line

PRODUCT = NonFinite(
    step=0,
    at=line(29, "likelihood"),
    stage="forward",
    value=None,
    op="prod",
    detail="prod of numbers that are not 0",
    made="nothing but 0",
    dtype="float32",
    located=True,
    watched=True,
)


def run(*, at=(0, 1), values=lambda step: 0.43):
    """A likelihood of so many probabilities that it is 0, behind a clamp."""
    play = Rehearsal()
    play.model("embed.weight", "out.weight")
    play.optimizer(1, 2)
    for step in range(12):
        value = values(step)
        play.zero()
        play.forward()
        if step in at:
            play.add(Underflowed(step=step, at=PRODUCT.at, origin=PRODUCT, value=value))
        play.backward(value=value, grads_finite=True)
        play.stepped()
        play.stats(value)
    return play.end()


EVENTS = run()
HEALTHY = [
    run(at=(0,)),
    run(at=(9, 10, 11), values=lambda step: 1.0 / (1 + step)),  # fitted: nothing is left to learn
]
