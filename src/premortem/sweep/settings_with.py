"""Which settings go with a failure: the split of the trials by one setting that the failure follows best.

A split says more than chance when failures that are dealt out among the trials at random hardly ever allow one that is as
good. They are dealt out a thousand times, so that it does not matter how many settings there are, or how alike they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from random import Random

from premortem.amounts import count
from premortem.sweep.trial import Trial, Value

CHANCE = 0.01  # one sweep in a hundred may show a connection that is none
DEALS = 1000


@dataclass(frozen=True, slots=True)
class Split:
    """The trials for which `setting` `relation` `bound` holds, and how many of them have failed so."""

    setting: str
    relation: str  # "≥", "≤", "="
    bound: Value
    inside: int  # trials for which it holds
    hit: int  # of these, those that failed
    outside: int
    missed: int  # failed though it does not hold
    chance: float  # that failures dealt out at random allow a split as good

    @property
    def sure(self) -> bool:
        return self.chance <= CHANCE

    @property
    def condition(self) -> str:
        return f"{self.setting} {self.relation} {shown(self.bound)}"

    @property
    def sentence(self) -> str:
        trials = count(self.inside, "trial")
        which = (
            f"all {trials}" if self.hit == self.inside and self.inside > 1 else f"{self.hit:,} of {trials}"
        )
        if self.hit == self.inside == 1:
            which = "the one trial"
        others = "none" if not self.missed else f"{self.missed:,}"
        found = f"{which} with {self.condition}, and {others} of the {self.outside:,} other{'s' * (self.outside != 1)}"
        return found if self.sure else f"{found}; chance alone does that in {self.chance:.0%} of such sweeps"


def goes_with(failed: Sequence[Trial], others: Sequence[Trial]) -> Split | None:
    """The best split; None when none says more than chance, unless it parts the trials without an exception."""
    trials = [*failed, *others]
    candidates = list(_splits(trials))
    if not candidates or not others:
        return None
    marks = (1 << len(failed)) - 1  # the first ones have failed
    sets = [sum(within << place for place, within in enumerate(inside)) for inside, _ in candidates]
    sizes = [inside.bit_count() for inside in sets]

    @cache
    def tail(size: int, hit: int) -> float:
        """How likely at least so many of the failures fall among so many trials, by chance alone: Fisher's exact test."""
        ways = (
            comb(len(failed), each) * comb(len(others), size - each)
            for each in range(hit, min(len(failed), size) + 1)
        )
        return sum(ways) / comb(len(trials), size)

    def unlikely(marked: int) -> list[float]:
        return [tail(size, (inside & marked).bit_count()) for inside, size in zip(sets, sizes, strict=True)]

    found = unlikely(marks)
    best = min(range(len(found)), key=lambda each: (found[each], len(candidates[each][1][0])))
    chance = _chance(len(trials), len(failed), found[best], unlikely)
    hit = (sets[best] & marks).bit_count()
    size = sizes[best]
    if chance > CHANCE and not hit == size == len(failed):
        return None
    return Split(*candidates[best][1], size, hit, len(trials) - size, len(failed) - hit, chance)


def _chance(trials: int, failed: int, found: float, unlikely: Callable[[int], list[float]]) -> float:
    random, places = Random(0), list(range(trials))  # noqa: S311 - no secret: the same answer each time
    as_good = 0
    for _ in range(DEALS):
        dealt = sum(1 << place for place in random.sample(places, failed))
        as_good += min(unlikely(dealt)) <= found
    return (1 + as_good) / (1 + DEALS)


def _splits(
    trials: Sequence[Trial],
) -> Iterator[tuple[tuple[bool, ...], tuple[str, str, Value]]]:
    for name in sorted({name for trial in trials for name in trial.settings}):
        given = [trial.settings.get(name) for trial in trials]
        known = {each for each in given if each is not None}
        if len(known) + (None in given) < 2:
            continue  # the same in all trials
        numbers = [each for each in given if isinstance(each, float)]
        if len(numbers) == len(given):
            yield from _thresholds(name, numbers)
            continue
        if len(known) > len(trials) // 2:
            continue  # a name of its own for each: seeds, folders
        for each in sorted(known, key=str):
            yield tuple(one == each for one in given), (name, "=", each)


def _thresholds(
    name: str, numbers: Sequence[float]
) -> Iterator[tuple[tuple[bool, ...], tuple[str, str, Value]]]:
    steps = sorted(set(numbers))
    for bound in steps[1:]:
        yield tuple(each >= bound for each in numbers), (name, "≥", bound)
    for bound in steps[:-1]:
        yield tuple(each <= bound for each in numbers), (name, "≤", bound)


def shown(bound: Value) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
