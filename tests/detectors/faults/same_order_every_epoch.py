"""A random sampler that draws the same order in each epoch."""

from premortem.events import EpochEnded, Event, OptimizerBuilt, OptimizerStep, OrderDrawn, Seeded
from tests.detectors.rehearsal import line


def run(*orders: int, trains: bool = True, anew: bool = False, models: int = 1) -> list[Event]:
    events: list[Event] = []
    for epoch, first in enumerate(orders):
        if anew:
            events.append(OptimizerBuilt(step=20 * epoch, optimizer=1 + epoch, kind="Adam", groups=()))
        events.append(OrderDrawn(step=20 * epoch, loader=1 + epoch, data=1, first=first))
        if trains:
            stepped = {"optimizer": epoch % models, "kind": "Adam", "lrs": (0.001,)}
            events.append(OptimizerStep(step=20 * epoch + 1, **stepped))
        events.append(EpochEnded(step=20 * (epoch + trains), loader=1 + epoch, batches=20, complete=True))
    return events


def seeded(*trained: bool, seeds: int = 1, anew: bool = False) -> list[Event]:
    events: list[Event] = []
    for epoch, again in enumerate(trained):
        if anew:
            events.append(OptimizerBuilt(step=8 * epoch, optimizer=1 + epoch, kind="Adam", groups=()))
        seed = epoch % seeds
        events.append(Seeded(step=8 * epoch, at=line(9), seed=seed, rewound=again, trained=again))
    return events


EVENTS = run(7, 7, 7, 7)
TWO_MODELS = run(7, 7, 7, 7, 7, 7, models=2)
HEALTHY: list[list[Event]] = [
    run(7, 8, 9, 10),
    run(7, 7, 8, 8, 9, 9),
    run(7, 7, 7, trains=False),
    run(7, 7, 7, 8, 8, 8, 9, 9, 9, models=3),  # three models side by side, with a seed for each epoch
    run(7, 7, 7, 7, anew=True),  # a sweep with one seed
    seeded(False, False, False, False),  # samples to look at, and a training that draws nothing
    seeded(False, True, False, True),
    seeded(False, True, True, True, seeds=4),
    seeded(False, True, True, True, anew=True),
]
SEEDED = seeded(False, False, True, True)
