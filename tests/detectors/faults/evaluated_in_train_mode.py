"""A validation pass in which dropout and batch norm ran as in training."""

from dataclasses import replace

from premortem.events import EvaluationEnded, Event, LogLine, ModelSeen, Parameter, RunEnded, Site

AT = Site("train.py", 40, "validate")
SEEN = ModelSeen(model=1, name="model", kind="Net", parameters=(), shapes=7)
VALIDATION = EvaluationEnded(
    step=20,
    at=AT,
    model=1,
    forwards=3,
    samples=60,
    grad=False,
    noisy_train=2,
    training=True,
    judged=True,
    repeated=False,
    generator=False,
    weights=5,
    number=1,
)
PRINTED = LogLine(
    step=20,
    text="epoch 1 acc 0.9",
    template="epoch # acc #",
    values=(("epoch", "1", 1.0), ("acc", "0.9", 0.9)),
)

# features are looked at in train mode, and a probe evaluates the backbone in eval mode, in either order
BACKBONE = (Parameter(11, "model.conv.weight", (4, 1, 3), trainable=True),)
WHOLE = replace(SEEN, parameters=(*BACKBONE, Parameter(12, "model.head.weight", (2, 4), trainable=True)))
PART = ModelSeen(model=2, name="model.conv", kind="Conv1d", parameters=BACKBONE)
LOOK = replace(VALIDATION, judged=False)
PROBE = replace(VALIDATION, model=2, training=False, judged=False, noisy_train=0)
PRINTED_ALONE: list[Event] = [WHOLE, PART, PRINTED, LOOK, replace(PROBE, step=60), RunEnded(step=80)]

EVENTS: list[Event] = [SEEN, VALIDATION, RunEnded(step=40)]

HEALTHY: list[list[Event]] = [
    [SEEN, replace(VALIDATION, noisy_train=0, training=False), RunEnded(step=40)],
    [SEEN, replace(VALIDATION, repeated=True), RunEnded(step=40)],  # Monte Carlo dropout
    [SEEN, replace(VALIDATION, generator=True), RunEnded(step=40)],  # samples of a GAN
    [SEEN, replace(VALIDATION, critic=True), RunEnded(step=40)],
    [SEEN, PRINTED, replace(VALIDATION, judged=False, discarded=True), RunEnded(step=40)],  # update_bn
    [SEEN, replace(VALIDATION, judged=False), RunEnded(step=40)],  # features for something else
    [SEEN, replace(VALIDATION, fresh=False), RunEnded(step=40)],  # the training batch once more
    [SEEN, replace(VALIDATION, both=True), RunEnded(step=40)],  # training accuracy beside a proper evaluation
    [SEEN, replace(VALIDATION, step=0, trained=False), RunEnded(step=40)],  # a dummy input finds out a shape
    # dropout kept on by hand, once per epoch, until the end averages several passes
    [
        SEEN,
        replace(VALIDATION, training=False),
        replace(VALIDATION, step=40, training=False, repeated=True),
        RunEnded(step=40),
    ],
    [WHOLE, PART, PRINTED, LOOK, PROBE, RunEnded(step=40)],
    [WHOLE, PART, PRINTED, PROBE, LOOK, RunEnded(step=40)],
]
