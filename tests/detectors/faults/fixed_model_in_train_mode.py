"""A teacher that was trained before is called in every step of another model, and was never put in eval mode."""

from collections.abc import Iterator

from premortem.events import Event, Forward, ModelSeen, Parameter, StateLoaded, WeightsSeen
from tests.detectors.faults.evaluated_copy_never_changes import MOVED

TEACHER = MOVED.links[0].model
SEEN = ModelSeen(
    model=TEACHER, name="teacher", kind="Net", parameters=(Parameter(1, "teacher.w", (4, 4), True),)
)
LOADED = StateLoaded(
    step=0, target="module", key=TEACHER, name="teacher", strict=True, given=4, wanted=4, matched=4
)


def asked(
    many: int = 200,
    *,
    noisy: int = 2,
    training: bool = True,
    tracked: bool = False,
    every: int = 1,
    passes: int = 1,
    moves: bool = False,
) -> Iterator[Event]:
    for step in range(10, 10 + many, every):
        if step % 32 < every or step < 13:
            yield WeightsSeen(step=step, model=TEACHER, checksum=step if moves else 7)
        for _ in range(passes):
            yield Forward(
                step=step,
                model=TEACHER,
                grad=tracked,
                training=training,
                noisy_train=noisy,
                noisy_eval=0,
                samples=32,
                tracked=tracked,
            )


EVENTS: list[Event] = [SEEN, MOVED, *asked()]
FROM_A_FILE: list[Event] = [SEEN, LOADED, *asked()]
HEALTHY: list[list[Event]] = [
    [SEEN, MOVED, *asked(training=False, noisy=0)],
    [SEEN, MOVED, *asked(noisy=0)],  # it has no such layers
    [SEEN, MOVED, *asked(moves=True)],  # a momentum encoder
    [SEEN, MOVED, *asked(tracked=True)],  # it is trained
    [SEEN, MOVED, *asked(passes=8)],  # Monte Carlo dropout
    [SEEN, MOVED, *asked(every=10)],  # now and then: an evaluation, which is another matter
    [SEEN, MOVED, *asked(40)],
    [SEEN, *asked()],  # a random projection
]
