"""`drop_last=True` with more samples in a batch than in the dataset."""

from dataclasses import replace

from premortem.events import (
    BatchDrawn,
    EpochEnded,
    EpochStarted,
    Event,
    Forward,
    Group,
    LoaderBuilt,
    LogLine,
    OptimizerBuilt,
    OptimizerStep,
    RunEnded,
    Site,
)

AT = Site("train.py", 14)
LOADER = LoaderBuilt(
    at=AT, loader=1, samples=400, batches=0, batch_size=512, shuffle=True, drop_last=True, workers=0
)
BUILT = OptimizerBuilt(optimizer=1, kind="SGD", groups=(Group(0.1, 0.0, 0.0, (1,)),))
STEP = OptimizerStep(step=1, optimizer=1, kind="SGD", lrs=(0.1,))
BATCH = BatchDrawn(at=AT, loader=1, index=0)
STARTED = EpochStarted(at=AT, loader=1)
ENDED = EpochEnded(at=AT, loader=1, batches=0)


def epoch(number: int) -> LogLine:
    return LogLine(
        text=f"epoch {number}", template="epoch #", values=(("epoch", str(number), float(number)),)
    )


EMPTY = Forward(at=AT, model=1, grad=True, training=True, noisy_train=0, noisy_eval=0, samples=0)

EVENTS: list[Event] = [BUILT, LOADER, STARTED, ENDED]

HEALTHY: list[list[Event]] = [
    [
        BUILT,
        replace(LOADER, batches=1),
        STARTED,
        BATCH,
        STEP,
        replace(ENDED, batches=1),
        epoch(0),
        epoch(1),
        RunEnded(),
    ],
    # the pool of an active learner is used up at last
    [BUILT, LOADER, STARTED, BATCH, STEP, replace(ENDED, batches=1), STARTED, ENDED],
    [BUILT, epoch(0), RunEnded()],  # a script that only prints
    [
        BUILT,
        EMPTY,
        EMPTY,
        replace(EMPTY, samples=8),
        EMPTY,
        RunEnded(),
    ],  # a last batch that happens to be empty
]
