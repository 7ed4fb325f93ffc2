"""A teacher that was trained before is called in every step of another model, and was never put in eval mode."""

from collections.abc import Iterator

from premortem.events import Event, Forward, ModelSeen, Parameter, StateLoaded, WeightsSeen
from tests.detectors.faults.evaluated_copy_never_changes import MOVED
from tests.detectors.rehearsal import Rehearsal

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


def inside(
    *, off: bool = True, training: bool = True, trained: bool = True, trainable: bool = False, **facts: bool
) -> list[Event]:
    """A teacher that is a part of the model that is trained."""
    play = Rehearsal()
    head = MOVED.links[0]._replace(name="model.student.weight", model=1, trainable=True, moved=True)
    part = head._replace(
        name="model.teacher.0.weight", trainable=trainable, moved=False, ran_without_grad=True
    )
    for _ in range(4):
        play.forward(1)
        play.layer("model.teacher.1", kind="BatchNorm1d", statistics=True, off=off, training=training)
        play.stepped()
        play.custody(
            head, part._replace(trained=trained, loaded=False, shifted=False, twin=False)._replace(**facts)
        )
    return play.end()


EVENTS: list[Event] = [SEEN, MOVED, *asked()]
FROM_A_FILE: list[Event] = [SEEN, LOADED, *asked()]
AS_A_PART = inside()
HEALTHY: list[list[Event]] = [
    inside(off=False),  # a frozen backbone that gradients may go through
    inside(training=False),
    inside(trained=False),  # a random projection
    inside(trainable=True),
    inside(shifted=True),  # an average of the student
    [SEEN, MOVED, *asked(training=False, noisy=0)],
    [SEEN, MOVED, *asked(noisy=0)],  # it has no such layers
    [SEEN, MOVED, *asked(moves=True)],  # a momentum encoder
    [SEEN, MOVED, *asked(tracked=True)],  # it is trained
    [SEEN, MOVED, *asked(passes=8)],  # Monte Carlo dropout
    [SEEN, MOVED, *asked(every=10)],  # now and then: an evaluation, which is another matter
    [SEEN, MOVED, *asked(40)],
    [SEEN, *asked()],  # a random projection
]
