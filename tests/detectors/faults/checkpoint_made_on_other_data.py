"""A pilot of three steps an epoch left its file; the run goes on from it with a hundred steps an epoch, for one epoch."""

from dataclasses import replace

from premortem.events import EpochEnded, EpochStarted, Event, LoaderBuilt, LogLine, OptimizerStep, RunEnded
from tests.detectors.resumed import RESUMED

PILOT = replace(
    RESUMED, kind="AdamW", saved_steps=42, counters=(("epoch", 13),), reached=(("epoch", 14),)
)  # 14 epochs are done
LOADER = LoaderBuilt(
    loader=1, samples=1600, batches=100, batch_size=16, shuffle=True, drop_last=False, workers=0
)


def step(number: int, optimizer: int = 1, backwards: int = 1) -> OptimizerStep:
    return OptimizerStep(step=number, optimizer=optimizer, kind="AdamW", lrs=(0.001,), backwards=backwards)


def run(
    resumed: Event = PILOT,
    length: int = 100,
    epochs: int = 1,
    *,
    more: tuple[Event, ...] = (),
    complete: bool = True,
) -> list[Event]:
    events: list[Event] = [LOADER, resumed]
    for at in range(epochs):
        events += [
            EpochStarted(step=at * length, loader=1),
            step(at * length + 1),
            *more,
            EpochEnded(step=(at + 1) * length, loader=1, batches=length, complete=complete),
        ]
    return [*events, RunEnded(step=epochs * length)]


def printed(number: int, at: int) -> LogLine:
    return LogLine(
        step=at, text=f"epoch {number}", template="epoch #", values=(("epoch", str(number), float(number)),)
    )


EVENTS: list[Event] = run()

HEALTHY: list[list[Event]] = [
    run(length=3),
    run(length=9),  # three times the data
    run(epochs=14),  # a start from the pilot
    run(complete=False),  # the passes are cut short
    run(replace(PILOT, saved_steps=0)),  # SGD
    run(replace(PILOT, restored=False)),
    run(replace(PILOT, reached=(("epoch", 0),))),  # counted anew
    run(replace(PILOT, counters=(("step", 13),), reached=(("step", 14),))),
    run(replace(PILOT, counters=(("epoch", 1),), reached=(("epoch", 2),), saved_steps=6)),
    run(replace(PILOT, reached=())),
    run(length=12),  # exactly four times, as with four accumulated batches: a remark
    run(length=30, more=(step(2, optimizer=2),)),  # two optimizers share the steps
    run(replace(PILOT, saved_settings=(("batch_size", 512),))),  # larger batches of the same data
    run(replace(PILOT, saved_settings=(("args.world_size", 32),))),
    run(replace(PILOT, saved_steps=37)),  # no whole number of steps in an epoch
    run(
        replace(PILOT, saved_steps=200, counters=(("epoch", 49),), reached=(("epoch", 50),))
    ),  # built again two epochs ago
    run(replace(PILOT, saved_steps=14 * 800), more=(step(2, backwards=8),)),  # eight batches make a step now
    [PILOT, step(1), printed(14, 100), RunEnded(step=140)],  # how long an epoch is stays open
]
