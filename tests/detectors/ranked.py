"""Digests of two ranks, as the first one hears them."""

from premortem.events import Digest, RanksSeen

NAMES = ("model.stem", "model.head")


def digest(rank, step, **changes):
    """A healthy rank under DistributedDataParallel: the same weights everywhere, its own data."""
    same = {
        "rank": rank,
        "signature": 7,
        "values": (step, step + 1),
        "gradients": (step, step + 1),
        "sums": (1.0 * step, 2.0),
        "sizes": (2.0 * step, 4.0),
        "rates": (0.1,),
        "backwards": step,
        "clips": 0,
        "refused": 0,
        "group": (0, 1),
        "wrapped_at": ("train.py", 4),
        "called": True,
        "batch": 1000 * rank + step,
        "loader": ("train.py", 9),
        "passes": 1,
        "drawn": step,
        "length": 100,
        "seconds": 0.05,
        "waiting": 0.001,
        "computing": 0.02,
    }
    return Digest(**{**same, **changes})


def seen(step, first=(), second=()):
    ranks = (digest(0, step, **dict(first)), digest(1, step, **dict(second)))
    return RanksSeen(step=step, names=NAMES, ranks=ranks)


def run(first=(), second=(), steps=(1, 2, 3, 4, 8, 16, 32, 64, 96, 128)):
    """Changes may depend on the step: `lambda step: {...}`."""
    at = lambda changes, step: changes(step) if callable(changes) else changes  # noqa: E731
    return [seen(step, at(first, step), at(second, step)) for step in steps]
