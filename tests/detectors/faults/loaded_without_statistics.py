from dataclasses import replace

from premortem.events import Forward, RunEnded, StateLoaded


def loaded(*layers):
    return StateLoaded(
        step=0,
        target="module",
        key=1,
        name="body",
        strict=True,
        given=12,
        wanted=12,
        matched=12,
        uncounted=layers,
    )


def forward(step, unborn):
    return Forward(
        step=step, model=1, grad=True, training=False, noisy_train=0, noisy_eval=2, samples=8, unborn=unborn
    )


EVENTS = [loaded("1", "4"), forward(0, 2), forward(1, 2)]
# A frozen encoder prepares the data, and only what is above it is trained.
PREPARES_DATA = [loaded("1", "4"), forward(0, 2), forward(0, 2), RunEnded(step=90)]
HEALTHY = [
    [loaded(), forward(1, 2)],  # a new layer, as its scales are
    [loaded("1", "4"), forward(1, 0)],  # counted since
    [loaded("1", "4"), forward(0, 2), forward(1, 0), RunEnded(step=90)],  # tried once
    [
        loaded("1", "4"),
        *[forward(0, 2)] * 2,
        replace(forward(0, 0), noisy_train=2),
        RunEnded(step=90),
    ],  # counted anew
]
