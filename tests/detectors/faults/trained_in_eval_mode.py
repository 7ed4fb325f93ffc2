"""`validate()` leaves the model in eval mode, and the next epoch is trained so."""

from collections.abc import Iterator
from dataclasses import replace

from premortem.events import (
    Backward,
    Event,
    Forward,
    Group,
    ModelSeen,
    OptimizerBuilt,
    OptimizerStep,
    Parameter,
    Site,
    StateLoaded,
)

AT = Site("train.py", 12)
PARAMETERS = tuple(Parameter(key, f"model.{key}", (4, 4), True) for key in range(1, 5))
SEEN = ModelSeen(model=1, name="model", kind="Net", parameters=PARAMETERS)
BUILT = OptimizerBuilt(optimizer=1, kind="SGD", groups=(Group(0.1, 0.0, 0.0, (1, 2, 3, 4)),))


def steps(
    first: int, last: int, training: bool, *, same: bool = False, optimizer: int = 1
) -> Iterator[Event]:
    for step in range(first, last):
        noise = (2, 0) if training else (0, 2)
        yield Forward(
            step=step,
            at=AT,
            model=1,
            grad=True,
            training=training,
            noisy_train=noise[0],
            noisy_eval=noise[1],
            samples=8,
            fingerprint=7 if same else 100 + step,
            number=step + 1,
        )
        yield Backward(step=step, value=1.0)
        yield OptimizerStep(step=step + 1, optimizer=optimizer, kind="SGD", lrs=(0.1,))


FROZEN = replace(SEEN, parameters=tuple(p._replace(trainable=p.key == 4) for p in PARAMETERS))
LOADED = StateLoaded(
    target="module", key=1, name="model", strict=True, given=4, wanted=4, matched=4, parameters=(1, 2, 3, 4)
)

EVENTS: list[Event] = [BUILT, SEEN, *steps(0, 5, True), *steps(5, 10, False)]

HEALTHY: list[list[Event]] = [
    [BUILT, SEEN, *steps(0, 20, True)],
    [BUILT, FROZEN, *steps(0, 20, False)],  # only the head is trained
    [BUILT, LOADED, SEEN, *steps(0, 20, False)],  # fine-tuning with fixed statistics
    [BUILT, SEEN, *steps(0, 20, False, same=True)],  # an overfitting check without dropout
    # a second phase with an optimizer of its own
    [BUILT, SEEN, *steps(0, 5, True), replace(BUILT, optimizer=2), *steps(5, 20, False, optimizer=2)],
    [SEEN, *steps(0, 20, False, optimizer=3)],  # an image is optimised, not the model
]
