"""What two streams say together: training and evaluation, one file and another, the first half and the second."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TypeVar

from premortem.profile.alone import ENOUGH, TARGET, summarise
from premortem.profile.facts import Column, Overlap, Profile, Shift
from premortem.profile.sample import Sample

# A column that goes on growing (an hour, a price) is two spreads further in the last fifth of the rows.
SHIFTED = 4.0  # spreads of the wider of the two
RESCALED = 6.0  # times as wide
_CHANCE = 1e-6  # that a class which is there does not turn up
FEWEST = 5  # rows of a class
_TOLD_APART = 0.5  # spreads between two columns, below which an exchange changes little
_TIMES = 10.0  # times as far as chance has it: among 64 columns there are two thousand pairs
_NO_FURTHER = 0.25  # of that distance, once exchanged
_STEADY = 3.0  # times as far as three quarters of the other columns: where all drift, some two seem to have changed places
# Files of one split may come from different days and places, and halves of a file be sorted: they differ more by nature.
WITHIN = (6.0, 12.0)
_FEWEST_FILES = 3  # for one of them to be the odd one
_MOST_FILES = 16  # of them that are compared with each other
T = TypeVar("T")
_NEAR = 0.4  # of the distance between the quartiles: so far may each of them be from where it should be
_STRETCHES = 16
_OF_A_GROUP = 10  # rows on average, at least
_FEWEST_NOISY = 4  # columns that say how much noise there is
_ERRORS = 4.0  # standard errors of a mean; of a median they are 1.25 times as large
_PREPARED = 1.5  # standardised targets are of size 1
_ENDS = 20.0  # times as large as the largest number of the other


def phases(
    profiles: Iterable[Profile],
    *,
    beside: bool = False,
    seen: Callable[[Profile], bool] = lambda _: False,
) -> Iterator[tuple[Profile, Profile]]:
    """What each model was trained on, with each evaluation of the same model on the same columns; if asked for, also what comes
    beside its first input, with what has the same place there, and what else is `seen` as an evaluation."""
    every = [profile for profile in profiles if beside or not profile.beside]
    for trained in every:
        for judged in every:
            evaluates = judged.phase == "evaluation" or seen(judged)
            same = trained.model == judged.model and place_beside(trained) == place_beside(judged)
            if trained.phase == "training" and evaluates and same:
                if trained.kind == judged.kind and [c.name for c in trained.columns] == [
                    c.name for c in judged.columns
                ]:
                    yield trained, judged


def place_beside(profile: Profile) -> str:
    """Where in the batch it stands, if it is no first input: columns of texts have the same names in every place."""
    return profile.name.rpartition(", ")[2] if profile.beside else ""


def overlap(first: Sample, second: Sample, names: tuple[str, str]) -> Overlap | None:
    """Rows of the second that are rows of the first."""
    of = second.comparable(first)
    both = second.shared(first)
    if not both or not of:
        return None
    here, there = both[0]
    example = f"row {here.place} of {names[1]} is row {there.place} of {names[0]}"
    different = sum(a.label is not None and b.label is not None and a.label != b.label for a, b in both)
    return Overlap(*names, len(both), of, second.distinct, example, different)


def only_in(first: Profile, second: Profile) -> list[tuple[str, int]]:
    """Classes of the second that never came in the first, although they should have if it were like the second."""
    if not first.classes or not second.classes:
        return []
    known = {label for label, _ in first.classes}
    mine, total = sum(n for _, n in first.classes), sum(n for _, n in second.classes)
    missing = [(label, n) for label, n in second.classes if label not in known and n >= FEWEST]
    surely = [
        (label, n) for label, n in missing if (1 - n / total) ** mine < _CHANCE or mine * n / total > 20
    ]
    # Where hardly a class is common to both they are numbered or chosen apart, which is another matter.
    common = sum(label in known for label, _ in second.classes)
    return surely if common >= 2 or common >= len(surely) else []


def shifts(first: Profile, second: Profile, *, far: float = SHIFTED, wide: float = RESCALED) -> list[Shift]:
    """Columns that are not what they are in the other stream."""
    if (
        first.kind != second.kind
        or first.kind == "codes"
        or [c.name for c in first.columns] != [c.name for c in second.columns]
    ):
        return []
    pairs = [
        (a, b)
        for a, b in zip(first.columns, second.columns, strict=True)
        if min(a.counted, b.counted) >= ENOUGH // 2
    ]
    if first.beside == "target" and first.kind == "channels":
        return other_ends(pairs)
    found = exchanged(pairs)
    wanted = pairs if first.beside == "target" else []
    if first.target is not None and second.target is not None and first.target.name == second.target.name:
        wanted = [(first.target, second.target)]
        pairs += wanted
    named = {name for shift in found for name in (shift.column, shift.other)}
    for a, b in pairs:
        how = differs(a, b, far, wide) if a.name not in named else ""
        if how == "constant" and b.low == b.high and is_noise(a, b, pairs):
            continue
        # Of several tasks, an evaluation may have no answers to one.
        if how and (how != "constant" or first.beside != "target"):
            factor = b.spread / a.spread if a.spread else 0.0
            found.append(Shift(a.name, how, a.mean, a.spread, b.mean, b.spread, factor))
    if second.phase == "evaluation" and any(converted(a, b) for a, b in wanted):
        # What was done to the targets of the training was done to all of their columns.
        undone = {a.name for a, _ in wanted} - named
        if undone <= {shift.column for shift in found}:
            found = [shift for shift in found if shift.column not in undone]
    return found


def differs(a: Column, b: Column, far: float, wide: float) -> str:
    if a.distinct <= 2 or (b.distinct <= 2 and b.low != b.high):
        return ""  # flags
    if b.low == b.high or a.low == a.high:
        if a.name.startswith(("lowest", "highest")):
            return (
                ""  # a picture with something white in it ends at 1, and a brighter or noisier one elsewhere
            )
        flat, other = (b, a) if b.low == b.high else (a, b)
        return "constant" if other.distinct > 8 and flat.counted >= ENOUGH else ""
    # Quartiles and median: one outlier in either must not decide.
    size = max(middle(a), middle(b))
    if size <= 0:
        return ""
    if abs(a.median - b.median) > far * 1.35 * size and apart(a, b):
        return "shifted"
    one, two = middle(a), middle(b)
    if min(one, two) <= 0 or min(a.distinct, b.distinct) <= 8:
        return ""
    ratio = two / one
    # What is never negative is wide where it is large: then its values have to be other ones, not only spread out further.
    if grows(a) and grows(b) and not apart(a, b):
        return ""
    if ratio > wide and b.spread > wide / 2 * a.spread:
        return "rescaled"
    if ratio < 1 / wide and b.spread < 2 / wide * a.spread and not within(b, a):
        return "rescaled"
    return ""


def is_noise(varies: Column, constant: Column, pairs: Sequence[tuple[Column, Column]]) -> bool:
    """Whether a constant column varies in training because all columns are given noise there: it does so around its constant, and
    the variances of the others exceed those of the evaluation by as much, as far as can be seen."""
    more = [a.spread**2 - b.spread**2 for a, b in pairs if b.low != b.high]
    if len(more) < _FEWEST_NOISY or not varies.counted:
        return False
    excess, variance = median(more), varies.spread**2
    unsure = _ERRORS * 1.25 * 1.48 * median(abs(each - excess) for each in more) / math.sqrt(len(more))
    in_place = abs(varies.mean - constant.mean) <= _ERRORS * varies.spread / math.sqrt(varies.counted)
    return in_place and abs(variance - excess) <= max(unsure, 0.5 * variance)


def converted(trained: Column, judged: Column) -> bool:
    """Whether an evaluation may undo on purpose what was done to the targets of the training: these lie about 0, between 0 and 1, or
    are the logarithm of the others."""
    if abs(trained.mean) < trained.spread or (trained.low >= -1 and trained.high <= 1):
        return True
    if judged.low < 0 or not trained.quantiles or not judged.quantiles:
        return False
    logs = (math.log1p, math.sqrt) + ((math.log, math.log10, math.log2) if judged.low > 0 else ())
    return any(
        all(
            abs(log(there) - here) < _NEAR * trained.middle
            for there, here in zip(judged.quantiles[2:5], trained.quantiles[2:5], strict=True)
        )
        for log in logs
    )


def asks_beyond(trained: Profile, judged: Profile) -> bool:
    """Whether the targets have gone elsewhere, too, and those that were trained on are not prepared, so that the evaluation has nothing of
    theirs to undo."""
    known, asked = trained.target, judged.target
    return (
        known is not None
        and asked is not None
        and math.hypot(known.mean, known.spread) > _PREPARED
        and bool(differs(known, asked, SHIFTED, RESCALED))
    )


def other_ends(pairs: Sequence[tuple[Column, Column]]) -> list[Shift]:
    """Pictures that are wanted: masks of 0 and 255 where there were 0 and 1, depths in millimetres. Of which part of a picture a target
    is differs by nature, so means say nothing."""
    found = []
    for a, b in pairs:
        small, large = sorted((abs(a.high), abs(b.high)))
        two_values = max(a.distinct, b.distinct) <= 2
        if a.name.startswith("highest") and large > _ENDS * small > 0 and (two_values or not converted(a, b)):
            found.append(Shift(a.name, "shifted", a.mean, a.spread, b.mean, b.spread, b.high / a.high))
    return found


def middle(column: Column) -> float:
    return column.middle / 1.35


def grows(column: Column) -> bool:
    """A size, a count or an amount, most of which is not 0: such columns differ by factors, and groups of rows often do by ten."""
    return column.low >= 0 and bool(column.quantiles) and column.quantiles[2] > 0


def apart(a: Column, b: Column) -> bool:
    """Nine tenths of the one lie beyond nine tenths of the other."""
    return a.quantiles[5] < b.quantiles[1] or b.quantiles[5] < a.quantiles[1]


def within(narrow: Column, wide: Column) -> bool:
    """A narrow part of the same range: the last month of a year. Not a smaller unit: that lies about 0."""
    size = max(abs(narrow.low), abs(narrow.high))
    return size > 0.2 * max(abs(wide.low), abs(wide.high))


def exchanged(pairs: Sequence[tuple[Column, Column]]) -> list[Shift]:
    """Two columns that are each what the other is in the other stream: RGB and BGR, latitude and longitude."""
    found = []
    meant: set[str] = set()
    # What is one number nearly everywhere, as the rim of a picture, looks like any other such column.
    pairs = [
        (a, b)
        for a, b in pairs
        if not a.name.startswith(("deviation", "lowest", "highest"))
        and all(each.middle > 0 if each.quantiles else each.spread > 0 for each in (a, b))
    ]
    for at, (a, b) in enumerate(pairs):
        for c, d in pairs[at + 1 :]:
            straight = min(distance(a, b), distance(c, d))
            crossed = max(distance(a, d), distance(c, b))
            noise = 1 / math.sqrt(min(a.counted, b.counted, c.counted, d.counted))
            if (
                straight > max(_TOLD_APART, _TIMES * noise)
                and crossed < max(_NO_FURTHER * straight, 3 * noise)
                and crossed < 0.5 * straight
            ):
                found.append(
                    (straight, Shift(a.name, "exchanged", a.mean, a.spread, b.mean, b.spread, 0.0, c.name))
                )
                meant |= {a.name, c.name}
    others = sorted(distance(a, b) for a, b in pairs if a.name not in meant)
    usual = _STEADY * others[len(others) * 3 // 4] if others else 0.0
    return [shift for straight, shift in found if straight > usual] if len(found) <= 2 else []


def distance(a: Column, b: Column) -> float:
    """Between two distributions, in spreads."""
    size = max(a.spread, b.spread)
    if size <= 0:
        return 0.0 if a.mean == b.mean else math.inf
    ratio = abs(math.log(max(a.spread, 1e-12) / max(b.spread, 1e-12)))
    return abs(a.mean - b.mean) / size + ratio


# --- within one stream -----------------------------------------------------------------------


def along(sample: Sample, kind: str) -> list[Shift]:
    """Columns that are not the same in the first and in the second half of a file or of a pass."""
    if kind == "tokens" or len(sample.kept) < 4 * ENOUGH:
        return []
    halves = sample.halves()
    first, second = (summarise(half, "", kind=kind, searched=False) for half in halves)
    found = shifts(first, second, far=WITHIN[0], wide=WITHIN[1])
    # Sorted rows, and columns that go on growing, differ in all they have in common with the order.
    places: dict[str, int | None] = {name: at for at, name in enumerate(sample.columns)}
    if any(is_sorted_by(sample, at) for at in places.values() if at is not None):
        return []  # each half has groups of its own
    places[TARGET] = None
    found = [
        s
        for s in found
        if not goes_on(sample, places[s.column])
        and not any(
            follows_order(half, places[s.column]) for half in (halves if s.how == "shifted" else [sample])
        )
    ]
    return found if len(found) <= max(1, len(first.columns) // 3) else []


def is_sorted_by(sample: Sample, place: int) -> bool:
    """A column of groups, one behind the other."""
    rows = sorted(sample.kept.values(), key=lambda row: row.place)
    values = [row.values[place] for row in rows if not math.isnan(row.values[place])]
    groups = len(set(values))
    return 1 < groups <= len(values) // _OF_A_GROUP and sum(a != b for a, b in pairwise(values)) == groups - 1


def goes_on(sample: Sample, place: int | None) -> bool:
    """Whether a column changes by many small factors, as a price does in ten years: another unit changes it by one large one."""
    rows = sorted(sample.kept.values(), key=lambda row: row.place)
    values = [row.values[place] for row in rows] if place is not None else [row.label or 0.0 for row in rows]
    size = len(values) // _STRETCHES
    middles = [median(values[at * size : (at + 1) * size]) for at in range(_STRETCHES)]
    if not all(math.isfinite(middle) and middle > 0 for middle in middles):
        return False
    logs = [math.log(middle) for middle in middles]
    half = _STRETCHES // 2
    return max(abs(b - a) for a, b in pairwise(logs)) < abs(median(logs[half:]) - median(logs[:half])) / 2


def follows_order(half: Sample, place: int | None) -> bool:
    """Of a column, or of the target."""
    rows = sorted(half.kept.values(), key=lambda row: row.place)
    values = [row.values[place] if place is not None else row.label or 0.0 for row in rows]
    rising, falling = sum(b >= a for a, b in pairwise(values)), sum(b <= a for a, b in pairwise(values))
    return len(values) < 20 or max(rising, falling) > 0.8 * len(values)


def odd_one(things: Sequence[T], differ: Callable[[T, T], list[Shift]]) -> tuple[T, list[Shift]] | None:
    """The one that is unlike all others, which are alike, and in what."""
    some = things[:_MOST_FILES]
    unlike = {id(one): [other for other in some if other is not one and differ(other, one)] for one in some}
    odd = [thing for thing in some if len(unlike[id(thing)]) == len(some) - 1]
    if len(some) < _FEWEST_FILES or len(odd) != 1:
        return None
    if any(len(unlike[id(thing)]) > 1 for thing in some if thing is not odd[0]):
        return None
    other = next(thing for thing in some if thing is not odd[0])
    return odd[0], differ(other, odd[0])


def odd_source(sample: Sample, kind: str) -> tuple[str, tuple[Shift, ...], int] | None:
    """Of the files that the rows come from, the one that is unlike the others: its name, in what, and how many others there are."""
    files = [
        summarise(part, source, kind=kind, searched=False)
        for source, part in sorted(sample.by_source().items())
        if len(part.kept) >= ENOUGH // 2
    ]
    found = odd_one(files, lambda a, b: shifts(a, b, far=WITHIN[0], wide=WITHIN[1]))
    return (found[0].name, tuple(found[1]), len(files) - 1) if found else None
