"""`torch.manual_seed(0)` in `get_batch`."""

from collections.abc import Iterator

from premortem.events import Backward, Event, Forward, OptimizerStep, RandomRepeated, Seeded, Site

AT = Site("train.py", 9, "get_batch")


def steps(
    many: int,
    *,
    seeds: list[int] | None = None,
    same: bool = True,
    repeats: bool = False,
    rewound: tuple[int, ...] = (),
) -> Iterator[Event]:
    for step in range(many):
        if seeds is not None:
            yield Seeded(step=step, at=AT, seed=seeds[step % len(seeds)], rewound=step in rewound)
        if repeats and step >= 3:
            yield RandomRepeated(step=step, at=AT, fn="randint", times=step, size=32)
        yield Forward(
            step=step,
            at=AT,
            model=1,
            grad=True,
            training=True,
            noisy_train=0,
            noisy_eval=0,
            samples=32,
            fingerprint=7 if same else step,
            number=step + 1,
        )
        yield Backward(step=step, value=1.0)
        yield OptimizerStep(step=step + 1, optimizer=1, kind="SGD", lrs=(0.1,))


EVENTS: list[Event] = [*steps(12, seeds=[0])]
DRAWN_AGAIN: list[Event] = [*steps(10, seeds=[0], same=False, rewound=tuple(range(2, 10)))]

HEALTHY: list[list[Event]] = [
    [Seeded(seed=0), *steps(30, same=False)],
    [*steps(30, seeds=list(range(30)), same=False)],  # a seed of its own for each step
    [*steps(30, seeds=[0], same=False)],  # the data does not depend on it
    [*steps(30, seeds=[0], same=False, rewound=(12,))],  # once is chance
    [event for _ in range(5) for event in (Seeded(seed=0, at=AT), *steps(5, same=False))],  # once per fold
]
