"""Which settings go with a failure: the split of the trials by one setting that the failure follows best.

A split says more than chance when failures that are dealt out among the trials at random hardly ever allow one that is as
good. They are dealt out a thousand times, so that it does not matter how many settings there are, or how alike they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache
from math import comb
from random import Random

from premortem.amounts import count
from premortem.sweep.trial import Trial, Value

_DIGITS = 17  # of a float; more change nothing
CHANCE = 0.01  # one sweep in a hundred may show a connection that is none
HINT = 0.5  # an exact split is shown with its chance, unless half of all sweeps would have one
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
    def exceptions(self) -> int:
        """Trials that it does not part as they ended."""
        return self.inside - self.hit + self.missed

    @property
    def condition(self) -> str:
        return f"{self.setting} {self.relation} {shown(self.bound)}"

    @property
    def sentence(self) -> str:
        trials = count(self.inside, "trial")
        which = f"{self.hit:,} of {trials}"
        if self.hit == self.inside:
            which = {1: "the one trial", 2: "both trials"}.get(self.inside, f"all {trials}")
        others = f"{self.missed:,}" if self.missed else "none"
        rest = f"{others} of the {self.outside:,} others"
        if self.outside == 1:
            rest = "the other one" if self.missed else "not the other one"
        found = f"{which} with {self.condition}, and {rest}"
        return found if self.sure else f"{found}; chance alone does that in {self.chance:.0%} of such sweeps"


def goes_with(failed: Sequence[Trial], others: Sequence[Trial]) -> Split | None:
    """The best split; None when none says more than chance, unless it parts the trials without an exception and few sweeps
    would allow that."""
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
    values = {name: len({trial.settings.get(name) for trial in trials}) for _, (name, *_) in candidates}

    def by(each: int) -> tuple[float, int, int]:
        """The same trials by two settings: the one that has fewer ways to part them, and the shorter name."""
        name = candidates[each][1][0]
        return found[each], values[name], len(name)

    best = min(range(len(found)), key=by)
    chance = _chance(len(trials), len(failed), found[best], unlikely)
    hit = (sets[best] & marks).bit_count()
    size = sizes[best]
    if chance > (HINT if hit == size == len(failed) else CHANCE):
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
    for below, bound in itertools.pairwise(steps):
        yield tuple(each >= bound for each in numbers), (name, "≥", _short(bound, below))
        yield tuple(each <= below for each in numbers), (name, "≤", _short(below, bound))


def _short(bound: float, beyond: float) -> float:
    """The bound with as few digits as keep it apart from the next value beyond it: 0.14 for 0.147366 after 0.124689."""
    towards = ROUND_FLOOR if beyond < bound else ROUND_CEILING
    exact = Decimal(repr(bound))
    for digits in range(1, _DIGITS):
        rounded = float(Context(prec=digits, rounding=towards).plus(exact))
        if beyond < rounded <= bound or bound <= rounded < beyond:
            return rounded
    return bound


def shown(bound: Value) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
