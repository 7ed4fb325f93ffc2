"""`next(iter(loader))` in each step, on a loader that does not shuffle."""

from collections.abc import Iterator
from dataclasses import replace

from premortem.events import (
    Backward,
    BatchDrawn,
    EpochEnded,
    Event,
    Forward,
    LoaderBuilt,
    LogLine,
    OptimizerStep,
    Site,
)

AT = Site("train.py", 22)
LOADER = LoaderBuilt(
    at=AT, loader=1, samples=400, batches=20, batch_size=20, shuffle=False, drop_last=False, workers=0
)
FORWARD = Forward(
    at=AT, model=1, grad=True, training=True, noisy_train=0, noisy_eval=0, samples=20, fingerprint=7, number=1
)


def steps(
    many: int,
    *,
    drawn: bool = False,
    left: bool | None = None,
    closure: bool = False,
    per_epoch: int = 0,
    **facts: object,
) -> Iterator[Event]:
    for step in range(many):
        if drawn:
            yield BatchDrawn(step=step, at=AT, loader=1, index=0, fingerprint=7)
        if left is not None:
            yield EpochEnded(step=step, loader=1, batches=1, complete=not left)
        yield replace(FORWARD, step=step, number=step + 1, **facts)  # type: ignore[arg-type]
        yield Backward(step=step, value=1.0)
        yield OptimizerStep(step=step + 1, optimizer=1, kind="SGD", lrs=(0.1,), closure=closure)
        if per_epoch and (step + 1) % per_epoch == 0:
            number = (step + 1) // per_epoch
            yield LogLine(
                step=step + 1, text="", template="epoch #", values=(("epoch", str(number), float(number)),)
            )


def rested(passes: int) -> Iterator[Event]:
    """One tensor on purpose, in a loop over the loader: of steps at rest there are events of the first batch and of the end alone."""
    trained = list(steps(20 * passes, same_object=True))
    for number in range(passes):
        yield BatchDrawn(step=20 * number, at=AT, loader=1, index=0, fingerprint=number)
        yield from trained[60 * number : 60 * (number + 1)]
        yield EpochEnded(step=20 * (number + 1), loader=1, batches=20)


EVENTS: list[Event] = [LOADER, *steps(12, drawn=True)]

STREAM = replace(LOADER, samples=None, batches=None)


def episodes(many: int) -> Iterator[Event]:
    """A policy is called for each state of an episode; once it has learned its task, they are the same in each."""
    for step in range(many):
        states = [7, 8, 10 + step % 3] if step < many // 2 else [7, 8, 9]
        for at, state in enumerate(states):
            yield replace(FORWARD, step=step, number=step * 3 + at + 1, fingerprint=state, window=True)
        yield Backward(step=step, value=1.0)
        yield OptimizerStep(step=step + 1, optimizer=1, kind="SGD", lrs=(0.1,))


HEALTHY: list[list[Event]] = [
    [*episodes(200)],
    [STREAM, *steps(100, drawn=True, left=False)],  # a stream of one batch
    [STREAM, *steps(100, drawn=True)],
    [*steps(100, same_object=True)],  # an overfitting check on one batch
    [*steps(100, window=True)],  # ... cut anew each time: no sign that it should change
    [*steps(100, per_epoch=1, window=True)],  # full-batch training on the first part of the data
    [*steps(100, closure=True, window=True, per_epoch=5)],  # LBFGS
    [LOADER, *rested(4)],
    [replace(LOADER, batches=1), *steps(100, drawn=True)],  # all there is fits in one batch
]
