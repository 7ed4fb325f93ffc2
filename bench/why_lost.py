"""What a planted mistake costs: the script without it against the script with it, on the measures of `why`.

A mistake that costs nothing measurable has no truth that anything could find: it is left out of the count.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from premortem.why import yardsticks
from premortem.why.director import FEW, Director, Why, WhyOptions
from premortem.why.order import Order, Result

LEAST = 0.1  # of the scale, under both seeds: less could be taken for a setting that is a little worse
_SEEDS = 2
_PART = 16  # of the time, as a trial gets it
_KNOWN: dict[tuple[str, ...], list[Result]] = {}
_LOCKS: dict[tuple[str, ...], threading.Lock] = defaultdict(threading.Lock)


def lost(
    name: Sequence[str],
    healthy: Callable[[], Sequence[str]],
    planted: Sequence[str],
    minutes: float,
    cwd: Callable[[Sequence[str]], Path],
    *,
    same_loss: bool,
) -> float | None:
    """The part of the scale that is lost on the measure that shows it best; None where nothing can be compared. `name`: of the
    healthy script."""
    with _LOCKS[tuple(name)]:  # each healthy script once
        if tuple(name) not in _KNOWN:
            words = healthy()
            _KNOWN[tuple(name)] = _results(words, minutes, cwd(words), 0)
    good = _KNOWN[tuple(name)]
    if any(each.failed or each.backwards < FEW for each in good):
        return None
    bad = _results(planted, minutes, cwd(planted), good[0].backwards)
    if any(each.failed or each.backwards < FEW for each in bad):
        return None
    sticks = yardsticks.yardsticks(good[0])
    chance = yardsticks.noise(sticks, good)
    by_seed = [
        {
            gain.yardstick: gain.size
            for gain in yardsticks.compare(sticks, chance, with_it, without, same_loss=same_loss)
        }
        for with_it, without in zip(bad, good, strict=True)
    ]
    shared = set.intersection(*map(set, by_seed))
    return max((min(each[name] for each in by_seed) for name in shared), default=None)


def _results(words: Sequence[str], minutes: float, cwd: Path, backwards: int) -> list[Result]:
    director = Director(WhyOptions(argv=list(words), cwd=cwd, minutes=minutes, jobs=1), Why())
    found: list[Result] = []
    with director.run:
        for seed in range(_SEEDS):
            length = found[0].backwards if found else backwards
            found.append(director.launch(Order(seed=seed, backwards=length, seconds=director.total / _PART)))
    return found
