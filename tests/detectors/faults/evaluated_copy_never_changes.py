"""An EMA copy is evaluated after each epoch, and nothing ever updates it."""

from dataclasses import replace

from premortem.events import Custody, EvaluationEnded, Event, Link, ModelSeen, Parameter, Site

AT = Site("train.py", 50, "main")
MODEL = ModelSeen(
    model=1, name="model", kind="Net", parameters=(Parameter(1, "model.w", (4, 4), True),), shapes=7
)
COPY = ModelSeen(
    model=2,
    name="ema.module",
    kind="Net",
    parameters=(Parameter(2, "ema.module.w", (4, 4), False),),
    shapes=7,
    copy_of=1,
)
MOVED = Custody(
    step=1,
    optimizer=1,
    links=(
        Link(
            key=1,
            name="model.w",
            model=1,
            numel=16,
            trainable=True,
            ran=True,
            ran_without_grad=False,
            reached=True,
            graded=True,
            gradient=1.0,
            owners=(1,),
            moved=True,
            weight=1.0,
            update=0.1,
            loaded=False,
            trained=False,
            born_after=False,
            hidden="",
            head=True,
        ),
    ),
)


def evaluations(model: int, *weights: int) -> list[Event]:
    return [
        EvaluationEnded(
            step=10 * number,
            at=AT,
            model=model,
            forwards=1,
            samples=100,
            grad=False,
            noisy_train=0,
            training=False,
            judged=True,
            repeated=False,
            generator=False,
            weights=checksum,
            number=number,
            trained=False,
        )
        for number, checksum in enumerate(weights, start=1)
    ]


EVENTS: list[Event] = [MODEL, MOVED, COPY, *evaluations(2, 5, 5, 5)]

HEALTHY: list[list[Event]] = [
    [MODEL, MOVED, COPY, *evaluations(2, 5, 6, 7, 8)],
    [
        MODEL,
        MOVED,
        COPY,
        *evaluations(1, 5),
        *evaluations(2, 5, 5, 5, 5),
    ],  # a baseline beside the model itself
    [MODEL, MOVED, replace(COPY, shapes=8), *evaluations(2, 5, 5, 5)],  # another network altogether
    [MODEL, COPY, *evaluations(2, 5, 5, 5)],  # nothing is trained
    [MODEL, MOVED, COPY, *evaluations(2, 5, 5)],
]
