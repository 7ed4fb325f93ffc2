"""`self.rng = np.random.default_rng(0)`, used in `__getitem__`, with two workers."""

from collections.abc import Iterator
from dataclasses import replace

from premortem.events import BatchDrawn, EpochStarted, Event, LoaderBuilt, Site

AT = Site("train.py", 12)
LOADER = LoaderBuilt(
    at=AT,
    loader=1,
    samples=400,
    batches=10,
    batch_size=40,
    shuffle=True,
    drop_last=False,
    workers=2,
    generators=("self.rng",),
)


def epochs(*fingerprints: int) -> Iterator[Event]:
    for fingerprint in fingerprints:
        yield EpochStarted(at=AT, loader=1)
        yield BatchDrawn(at=AT, loader=1, index=0, fingerprint=fingerprint)


EVENTS: list[Event] = [LOADER, *epochs(1, 2, 3)]

HEALTHY: list[list[Event]] = [
    [replace(LOADER, generators=()), *epochs(1, 2, 3)],
    [replace(LOADER, workers=0), *epochs(1, 2, 3)],
    [replace(LOADER, shuffle=False), *epochs(1, 2, 3)],  # in a fixed order one sees that the draws are new
    [LOADER, *epochs(1)],
]
