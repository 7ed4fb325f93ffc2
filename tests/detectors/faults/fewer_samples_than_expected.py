"""A WeightedRandomSampler with one weight per class."""

from collections.abc import Iterator
from dataclasses import replace

from premortem.events import (
    BatchDrawn,
    EpochEnded,
    EpochStarted,
    Event,
    LoaderBuilt,
    LogLine,
    OptimizerStep,
    Site,
)

AT = Site("train.py", 14)
LOADER = LoaderBuilt(
    at=AT,
    loader=1,
    samples=400,
    batches=10,
    batch_size=40,
    shuffle=True,
    drop_last=False,
    workers=0,
    reachable=4,
)
PLAIN = replace(LOADER, reachable=None)


def epochs(many: int, batches: int, *, complete: bool = False, label: str = "epoch") -> Iterator[Event]:
    for number in range(many):
        yield EpochStarted(step=number, at=AT, loader=1)
        yield BatchDrawn(step=number, at=AT, loader=1, index=0)
        yield OptimizerStep(step=number + 1, optimizer=1, kind="SGD", lrs=(0.1,))
        yield LogLine(
            step=number + 1, text="", template=f"{label} #", values=((label, str(number), float(number)),)
        )
        yield EpochEnded(step=number + 1, at=AT, loader=1, batches=batches, complete=complete)


def counted(many: int, batches: int, *, evaluated: int = 0) -> Iterator[Event]:
    """A long run: its steps are counted, and not reported."""
    step = 0
    for number in range(many):
        yield EpochStarted(step=step, at=AT, loader=1)
        step += batches
        if evaluated:  # another loader, a part of which is enough
            yield EpochStarted(step=step, at=AT, loader=2)
        values = (("epoch", str(number), float(number)),)
        yield LogLine(step=step, text="", template="epoch #", values=values)
        yield EpochEnded(
            step=step, at=AT, loader=1, batches=batches, complete=not evaluated and batches == 10
        )
        if evaluated:
            yield EpochEnded(step=step, at=AT, loader=2, batches=evaluated, complete=False)


EVENTS: list[Event] = [LOADER]
COUNTED: list[Event] = [replace(PLAIN, shuffle=False), *counted(6, 4)]
LIMITED: list[Event] = [PLAIN, *epochs(6, 2)]  # a second batch is drawn, and the loop is left with it
EXTREME: list[Event] = [replace(PLAIN, samples=3200, weighted=(3200, 7))]
ROUNDED: list[Event] = [replace(PLAIN, samples=3200, weighted=(90, 60))]

HEALTHY: list[list[Event]] = [
    [replace(PLAIN, samples=3200, weighted=(3200, 400))],
    [replace(PLAIN, samples=3200, weighted=(900, 600))],
    [replace(PLAIN, samples=3200, weighted=(20, 20))],  # the others have no weight: left out on purpose
    [replace(LOADER, reachable=400), *epochs(6, 10, complete=True)],
    [PLAIN, *epochs(6, 4)],  # some shuffled batches make an epoch
    [PLAIN, *epochs(6, 1, label="step")],  # next(iter(loader)) in every step
    [replace(PLAIN, shuffle=False), *epochs(3, 2)],  # a smoke test
    [replace(PLAIN, shuffle=False), *counted(6, 10)],
    [PLAIN, replace(PLAIN, loader=2, shuffle=False), *counted(6, 10, evaluated=3)],
]
