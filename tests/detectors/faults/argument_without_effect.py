"""A denoiser that is given the time, and looks at nothing of it."""

from dataclasses import replace

from premortem.events import Event, Experimented

ASKED = Experimented(
    step=2,
    model=1,
    name="model",
    effects={},
    noisy=False,
    samples=96,
    shape=(96, 2),
    batched=False,
    same_input=False,
    own_rows=False,
    statistics=False,
    source=None,
    ignored=("t",),
    demanded=("t",),
)
EVENTS: list[Event] = [ASKED, replace(ASKED, step=5)]
HEALTHY: list[list[Event]] = [
    [ASKED],
    [replace(each, demanded=()) for each in (ASKED, replace(ASKED, step=5))],
    [replace(each, demanded=("labels",)) for each in (ASKED, replace(ASKED, step=5))],
    [replace(each, noisy=True) for each in (ASKED, replace(ASKED, step=5))],
]
