"""Resumed at epoch 5 with the weights, and without the moments that are in the file."""

from dataclasses import replace

from premortem.events import (
    Event,
    FileLoaded,
    Group,
    LogLine,
    OptimizerBuilt,
    OptimizerStep,
    Resumed,
    Site,
    StateLoaded,
)

AT = Site("resume.py", 20)
BUILT = OptimizerBuilt(optimizer=1, kind="Adam", groups=(Group(0.1, 0.0, 0.9, (1, 2, 3, 4)),))
FILE = FileLoaded(
    at=AT,
    path="/runs/c.pt",
    keys=("model", "opt", "epoch"),
    optimizer_entries=4,
    counters=(("epoch", 4),),
)
WEIGHTS = StateLoaded(target="module", key=1, name="model", strict=True, given=4, wanted=4, matched=4)
MOMENTS = StateLoaded(target="optimizer", key=1, name="Adam", strict=True, given=4, wanted=4, matched=4)
STEP = OptimizerStep(step=1, optimizer=1, kind="Adam", lrs=(0.1,))


def epoch(number: int) -> LogLine:
    return LogLine(
        step=1, text=f"epoch {number}", template="epoch #", values=(("epoch", str(number), float(number)),)
    )


# It prints nothing, and its loop goes on from the file.
SILENT = Resumed(
    at=AT,
    path="/runs/c.pt",
    optimizer=1,
    kind="Adam",
    parameters=4,
    restored=False,
    entries=4,
    counters=(("epoch", 4),),
    reached=(("epoch", 5),),
)

EVENTS: list[Event] = [BUILT, FILE, WEIGHTS, STEP, epoch(5)]

HEALTHY: list[list[Event]] = [
    [BUILT, FILE, WEIGHTS, MOMENTS, STEP, epoch(5)],
    [BUILT, FILE, WEIGHTS, STEP, epoch(0)],  # fine-tuning: a run of its own
    [BUILT, FILE, WEIGHTS, STEP, epoch(1)],
    [BUILT, replace(FILE, optimizer_entries=0), WEIGHTS, STEP, epoch(5)],
    [BUILT, replace(FILE, optimizer_entries=9), WEIGHTS, STEP, epoch(5)],  # another optimizer's state
    [BUILT, FILE, STEP, epoch(5)],  # the file was only looked at
    [BUILT, FILE, WEIGHTS, MOMENTS, replace(SILENT, restored=True), STEP],
    [BUILT, FILE, WEIGHTS, replace(SILENT, reached=(("epoch", 0),)), STEP],
]
