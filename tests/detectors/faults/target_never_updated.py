"""A target network that is called in every step, on the next states, and never gets the weights of the trained one."""

from collections.abc import Iterator
from dataclasses import replace

from premortem.events import (
    Custody,
    Event,
    Forward,
    ModelSeen,
    Parameter,
    RunEnded,
    Site,
    StateLoaded,
    WeightsSeen,
)
from tests.detectors.faults.evaluated_copy_never_changes import MOVED

AT = Site("train.py", 50, "learn")
MODEL = ModelSeen(
    model=1, name="self.q", kind="Net", parameters=(Parameter(1, "self.q.w", (4, 4), True),), shapes=7
)
TARGET = ModelSeen(
    at=AT,
    model=2,
    name="self.target",
    kind="Net",
    parameters=(Parameter(2, "self.target.w", (4, 4), True),),
    shapes=7,
    copy_of=1,
    same_weights=True,
)


def steps(many: int = 400, *, sync: int = 0, same: bool = False, until: int = 10**9) -> Iterator[Event]:
    for step in range(many):
        yield Forward(
            step=step,
            model=1,
            grad=True,
            training=True,
            noisy_train=0,
            noisy_eval=0,
            samples=32,
            fingerprint=2 * step,
            tracked=True,
        )
        if step < until:
            yield Forward(
                step=step,
                model=2,
                grad=False,
                training=True,
                noisy_train=0,
                noisy_eval=0,
                samples=32,
                fingerprint=2 * step + (not same),
                tracked=False,
            )
            if step % 64 == 0:
                yield WeightsSeen(step=step, model=2, checksum=step // sync if sync else 5)
    yield RunEnded(step=many)


LINK = MOVED.links[0]
PRETRAINED = Custody(step=1, optimizer=1, links=(LINK._replace(loaded=True),))


def loaded(step: int, aliased: int) -> StateLoaded:
    return StateLoaded(
        step=step,
        at=AT,
        target="module",
        key=2,
        name="self.target",
        strict=True,
        given=4,
        wanted=4,
        matched=4,
        aliased=aliased,
    )


EVENTS: list[Event] = [MODEL, TARGET, MOVED, loaded(40, aliased=4), *steps()]  # its own state, into itself

HEALTHY: list[list[Event]] = [
    [MODEL, TARGET, MOVED, *steps(sync=100)],
    [MODEL, TARGET, MOVED, loaded(40, aliased=0), *steps()],  # between two looks
    [MODEL, TARGET, MOVED, *steps(same=True)],  # a reference, on the same inputs
    [MODEL, TARGET, PRETRAINED, *steps()],  # a copy of what was learned before
    [MODEL, MOVED, TARGET, *steps()],
    [MODEL, replace(TARGET, same_weights=False), MOVED, *steps()],  # another random network
    [MODEL, TARGET, MOVED, *steps(until=220)],  # replaced by another copy
    [MODEL, TARGET, *steps()],  # nothing is trained
]
