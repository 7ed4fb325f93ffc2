"""What one stream says by itself."""

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from premortem.profile.arrays import CHANGES, HIGHEST
from premortem.profile.facts import BINS, Blank, Column, Filler, Giveaway, Placeholder, Profile
from premortem.profile.sample import MOST_TOKENS, Row, Sample

_POINTS = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
TARGET = "target"
ENOUGH = 100  # rows, below which hardly any rule judges a column
# A placeholder: so many distances between the quartiles away from the median. Heavy tails reach ten, a capped income twenty.
_FAR = 25.0
_FAR_KNOWN = 8.0  # for a number that people write where they have none
_KNOWN = frozenset(
    {-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0, -32768.0, -2147483648.0}
    | {
        99.0,
        999.0,
        9999.0,
        99999.0,
        999999.0,
        32767.0,
        65535.0,
        2147483647.0,
        1e20,
        -1e20,
        1e30,
        -1e30,
        1e10,
        -1e10,
    }
)
_TWICE_AS_FAR = 2.0  # times the distance of the next value: nothing lies between it and the rest
_REPEATED = 3  # rows
_SHARE = 0.002  # of the rows
_VARIED = 12  # different values of the rest: a flag has no placeholder
_FLAG = 2  # different values
_STEPS = 5, 24  # of a ladder of values
_LADDER = 2.0  # times the usual step of it, at most
_BEYOND = 2.0  # times the range of a series or a picture: its own extremes lie at the ends of that range
_SAME = 1e-5  # of the spread, up to which a straight line is exact


def summarise(
    sample: Sample,
    name: str,
    *,
    phase: str = "",
    source: str = "",
    kind: str = "table",
    labels: str = TARGET,
    searched: bool = True,
    **known: object,
) -> Profile:
    """The profile of a sample; without placeholders and giveaways where no one asks for them (`searched`)."""
    rows = list(sample.kept.values())
    columns = tuple(
        column_of(
            column, [row.values[at] for row in rows], sample.low[at], sample.high[at], sample.missing[at]
        )
        for at, column in enumerate(sample.columns)
    )
    wanted = [row.label for row in rows if row.label is not None]
    measured = bool(wanted) and not sample.discrete
    return Profile(
        name=name,
        phase=phase,
        source=source,
        rows=sample.rows,
        sampled=len(rows),
        distinct=sample.distinct,
        kind=kind,
        columns=columns,
        classes=tuple(sorted(sample.classes.items(), key=lambda pair: (-pair[1], pair[0]))),
        target=column_of(labels, wanted) if measured else None,
        placeholders=tuple(placeholders(sample.columns, rows, passes(sample, known.get("length"))))
        if searched
        else (),
        giveaways=tuple(giveaways(sample.columns, rows, discrete=sample.discrete)) if searched else (),
        repeated=sample.repeated,
        contradicting=sample.contradicting,
        tokens=tuple(sample.tokens.most_common(MOST_TOKENS)),
        blank=blank(sample, columns, kind),
        copied=copied(sample),
        filler=filler(sample),
        **known,  # type: ignore[arg-type]
    )


def column_of(
    name: str,
    values: Sequence[float],
    low: float = math.inf,
    high: float = -math.inf,
    missing: int = 0,
) -> Column:
    finite = sorted(filter(math.isfinite, values))  # no line of ours for each of them: a step waits for this
    if not finite:
        return Column(name, 0, missing, 0.0, 0.0, 0.0, 0.0)
    mean = math.fsum(finite) / len(finite)
    spread = math.sqrt(math.fsum([(v - mean) ** 2 for v in finite]) / len(finite))
    counts = Counter(finite)
    last = len(finite) - 1
    return Column(
        name=name,
        counted=len(finite),
        missing=missing,
        mean=mean,
        spread=spread,
        low=min(low, finite[0]),
        high=max(high, finite[-1]),
        quantiles=tuple(finite[round(point * last)] for point in _POINTS),
        distinct=len(counts),
        common=tuple(sorted(counts.most_common(3), key=lambda pair: -pair[1])),
        histogram=histogram(finite),
        whole=all(v.is_integer() for v in counts),
        merged=len(counts) - len(set(array("f", counts))),  # of 32 bits
    )


def histogram(ordered: Sequence[float]) -> tuple[int, ...]:
    low, high = ordered[0], ordered[-1]
    if low == high or not math.isfinite(high - low):
        return (len(ordered),)
    bins = [0] * BINS
    for value in ordered:
        bins[min(BINS - 1, int(BINS * ((value - low) / (high - low))))] += 1
    return tuple(bins)


def blank(sample: Sample, columns: Sequence[Column], kind: str) -> Blank | None:
    """Rows of nothing, where the others are many different numbers: flags may all be off."""
    alive = sum(column.distinct > _VARIED for column in columns)
    # A column of a picture or a series speaks for many numbers: two of them are more than a narrow table of three.
    if not sample.blank or alive < max(2 if kind == "channels" else 3, len(columns) // 4):
        return None
    labels = sample.blank_labels
    return Blank(sample.blank, sample.rows, len(labels), max(labels.values(), default=0))


def copied(sample: Sample) -> Blank | None:
    labels = sample.commonest()
    known = [number for label, number in labels.items() if label is not None]
    return (
        Blank(labels.total(), sample.rows, len(known), max(known, default=0))
        if known and sample.discrete
        else None
    )


def filler(sample: Sample) -> Filler | None:
    if not sample.fill:
        return None
    token, times = sample.fill.most_common(1)[0]
    runs = sample.fill_runs[token]
    return Filler(token, times, sample.fill_of, runs) if not sample.fill_short[token] else None


# --- placeholders ----------------------------------------------------------------------------


def passes(sample: Sample, length: object) -> float:
    """How often a row of the dataset may be in the sample: what has no contents to know it by is counted in every epoch."""
    if not isinstance(length, int) or not length:
        return 1.0
    return max(1.0, (sample.rows - sample.repeated) / length)


def placeholders(names: Sequence[str], rows: Sequence[Row], passes: float = 1.0) -> Iterator[Placeholder]:
    pairs = [(f"lowest of {name}", f"highest of {name}") for name in names]
    places = {name: at for at, name in enumerate(names)}
    ends = {name: places[other] for pair in pairs for name, other in (pair, pair[::-1]) if other in places}
    for at, name in enumerate(names):
        if name == CHANGES:
            continue  # a number of ours, and none that anyone wrote into the data
        values = sorted(filter(math.isfinite, [row.values[at] for row in rows]))
        if len(values) < ENOUGH:
            continue
        for value in {values[0], values[-1]}:
            number = bisect_right(values, value) - bisect_left(values, value)
            if number >= max(_REPEATED * passes, _SHARE * len(values)) and is_apart(value, number, values):
                if goes_up_in_times(value, values):
                    continue
                rest = [v for v in values if v != value]
                if name in ends and not is_beyond(
                    value, rest, sorted(row.values[ends[name]] for row in rows)
                ):
                    continue
                first = min((row for row in rows if row.values[at] == value), key=lambda row: row.place)
                where = f"{first.source} " if first.source else ""
                yield Placeholder(
                    name, value, number, len(values), rest[0], rest[-1], f"{where}row {first.place}"
                )


def is_beyond(value: float, rest: Sequence[float], other_end: Sequence[float]) -> bool:
    """Far outside of all that a row has besides. A sine's lowest value is -1 in every other half wave, and 0 in between."""
    spared = len(other_end) // 50  # which may have a placeholder of its own
    others = [one for one in other_end if one != value]
    reach = [*rest, *others[spared : len(others) - spared]]
    low, high = min(reach), max(reach)
    return max(low - value, value - high) > _BEYOND * (high - low)


def goes_up_in_times(value: float, ordered: Sequence[float]) -> bool:
    """Whether a value is the next step of a ladder in which each step is so many times the one before it: doses of 0.5, 1.5, 5, 15, 50 and 150."""
    steps = sorted({v for v in ordered if v > 0})
    if not _STEPS[0] <= len(steps) <= _STEPS[1] or value != steps[-1]:
        return False
    times = [b / a for a, b in pairwise(steps)]
    return times[-1] <= _LADDER * sorted(times[:-1])[len(times[:-1]) // 2]


def is_apart(value: float, number: int, ordered: Sequence[float]) -> bool:
    """Far from all the others, which lie together and are many different ones."""
    rest = ordered[number:] if value == ordered[0] else ordered[: len(ordered) - number]
    # The other end may have a placeholder of its own.
    inner = rest[len(rest) // 50 : len(rest) - len(rest) // 50]
    if len(rest) < ENOUGH // 2 or len(set(inner)) < _VARIED or number > len(ordered) // 2:
        return False
    last = len(inner) - 1
    median = inner[last // 2]
    middle = inner[round(0.75 * last)] - inner[round(0.25 * last)]
    if middle <= 0:
        return False
    nearest = rest[0] if value == ordered[0] else rest[-1]
    if abs(value - median) < _TWICE_AS_FAR * abs(nearest - median):
        return False
    if value in _KNOWN:
        return abs(value - median) > _FAR_KNOWN * middle
    return abs(value - median) > _FAR * middle and not (value > nearest and is_tail(value, nearest, median))


def is_tail(value: float, nearest: float, median: float) -> bool:
    """Populations and amounts of money go up in times: the largest city is no farther from the second than that is from a town."""
    return median > 0 and math.log(value / median) < _TWICE_AS_FAR * math.log(nearest / median)


# --- a column that is the target -------------------------------------------------------------


def giveaways(names: Sequence[str], rows: Sequence[Row], *, discrete: bool) -> Iterator[Giveaway]:
    labelled = [row for row in rows if row.label is not None]
    if len(labelled) < ENOUGH or len(names) < 3:
        return
    labels = [row.label or 0.0 for row in labelled]
    if len(set(labels)) < 2:
        return
    found = []
    for at, name in enumerate(names):
        values = [row.values[at] for row in labelled]
        told = of_classes(values, labels) if discrete else of_quantity(values, labels)
        if told:
            found.append(Giveaway(name, *told, len(labelled)))
    # Where many columns do, the task is made so.
    if len(found) <= max(1, len(names) // 4):
        yield from found


def of_classes(values: Sequence[float], labels: Sequence[float]) -> tuple[str, str] | None:
    classes = Counter(labels)
    if len(classes) > 64 or min(classes.values()) < 5:
        return None
    by_value: dict[float, set[float]] = defaultdict(set)
    for value, label in zip(values, labels, strict=True):
        by_value[value].add(label)
    if len(by_value) == len(classes) and all(len(found) == 1 for found in by_value.values()):
        order = sorted((next(iter(found)), value) for value, found in by_value.items())
        if len({value for _, value in order}) == len(classes):
            shown = ", ".join(f"{value:.4g} for class {label:g}" for label, value in order[:3])
            return "renamed", shown
    # One value that all rows of one class have, and no other row; the other rows have many values.
    value, number = Counter(values).most_common(1)[0]
    if len(by_value) > _VARIED and len(by_value[value]) == 1:
        label = next(iter(by_value[value]))
        if number >= 20 and number >= 0.98 * classes[label]:
            return (
                "marked",
                f"{value:.6g} in {number} of {classes[label]} rows of class {label:g}, and in no other row",
            )
    return None


def of_quantity(values: Sequence[float], labels: Sequence[float]) -> tuple[str, str] | None:
    pairs = [(v, y) for v, y in zip(values, labels, strict=True) if math.isfinite(v) and math.isfinite(y)]
    if len(pairs) < ENOUGH or len({y for _, y in pairs}) < _VARIED:
        return None
    if all(v == y for v, y in pairs):
        return "equal", "the same number in every row"
    fit = line(pairs)
    if fit is None:
        return None
    slope, start, left = fit
    return ("line", f"target = {slope:.4g} × column {start:+.4g}") if left < _SAME else None


def line(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, float] | None:
    """Slope and start of the straight line through them, and what it leaves over, in spreads of the target."""
    count = len(pairs)
    x, y = math.fsum(v for v, _ in pairs) / count, math.fsum(t for _, t in pairs) / count
    xx = math.fsum((v - x) ** 2 for v, _ in pairs)
    yy = math.fsum((t - y) ** 2 for _, t in pairs)
    if xx <= 0 or yy <= 0:
        return None
    slope = math.fsum((v - x) * (t - y) for v, t in pairs) / xx
    left = math.fsum((t - y - slope * (v - x)) ** 2 for v, t in pairs)
    return slope, y - slope * x, math.sqrt(left / yy)


# --- questions -------------------------------------------------------------------------------


def constants(profile: Profile) -> list[Column]:
    """Columns that are one number in every row, beside others that are not."""
    if profile.kind != "table" or profile.sampled < ENOUGH or len(profile.columns) < 3:
        return []
    if profile.beside == "target":
        return []  # a place that nothing is asked for
    alive = [c for c in profile.columns if c.distinct > _VARIED]
    dead = [c for c in profile.columns if c.counted >= ENOUGH and c.low == c.high]
    # 0 and 1 are written on purpose: a place that is kept free, a constant term, a flag that nothing has yet. Among
    # standardised columns 0 is what is left of any constant.
    standard = all(is_standard(c) for c in profile.columns if c not in dead)
    odd = [c for c in dead if c.low != 1.0 and (c.low != 0.0 or standard)]
    return odd if odd and len(dead) <= max(1, len(profile.columns) // 5) and len(alive) >= 2 else []


def is_standard(column: Column) -> bool:
    return abs(column.mean) < 0.3 and 0.7 < column.spread < 1.4


def is_what_is_left(constant: Column, profile: Profile) -> bool:
    """Of a constant that was standardised together with the other columns: flags beside them need not be. The mean of equal numbers
    is off by what rounding leaves, their deviation is about that large, and often something is added to it."""
    others = [c for c in profile.columns if c.low != c.high and c.distinct > _FLAG]
    return constant.low == 0.0 or (abs(constant.low) <= 1.0 and all(is_standard(c) for c in others))


def collapsed(profile: Profile) -> Column | None:
    """The widest column, where even that is hardly more than one number: the rows do not differ."""
    if profile.beside or profile.is_part:
        return None  # a mask, weights: whether samples differ shows in the first input; or in those that are not in it
    columns = [c for c in profile.columns if c.counted >= ENOUGH and not c.name.startswith("deviation")]
    if len(columns) != len([c for c in profile.columns if not c.name.startswith("deviation")]) or not columns:
        return None
    widest = max(columns, key=lambda c: c.high - c.low)
    size = max(abs(widest.low), abs(widest.high))
    if widest.low == widest.high and profile.is_made:
        return None  # all ones, anew in each step: a model that has no input
    if size == 0.0:
        return widest
    # A square that moves over a picture changes neither its mean nor its range: what varies within a sample counts too.
    within = max((c.mean for c in profile.columns if c.name.startswith("deviation")), default=0.0)
    if within >= max(_NO_SPREAD, NEARLY * size):
        return None
    return widest if (widest.high - widest.low) < NEARLY * size and widest.spread < _NO_SPREAD else None


def stands_for_many(profile: Profile) -> Blank | None:
    """One and the same row in place of many samples, with their different labels."""
    return too_many(profile, profile.copied) if profile.copied is not None else None


def never_filled(profile: Profile) -> Blank | None:
    """Rows of nothing that are too many to be a few that failed, and carry different labels."""
    return too_many(profile, profile.blank)


def too_many(profile: Profile, found: Blank | None) -> Blank | None:
    if found is None or profile.beside or profile.sampled < ENOUGH:
        return None
    # A picture may be dark, and silence may be a class of its own.
    least = _BLANK_ROWS if profile.kind == "table" else _BLANK_PICTURES
    if found.rows < least * found.of or found.rows == found.of:
        return None
    if not found.labels:
        return found if profile.kind == "table" and found.rows >= _BLANK_PICTURES * found.of else None
    return found if found.labels > 1 and found.frequent < _ONE_THING * found.rows else None


def mostly_filler(profile: Profile) -> Filler | None:
    found = profile.filler
    if found is None or found.runs < ENOUGH or found.times < _FILLED * found.of:
        return None
    return found


def highest(profile: Profile) -> float:
    """The largest token that came."""
    return max((column.high for column in profile.columns if column.name == HIGHEST), default=math.inf)


def one_token(profile: Profile) -> bool:
    """Rows of numbers that stand for words, in most of which one number is repeated and another fills the rest."""
    changes = next((c for c in profile.columns if c.name == CHANGES), None)
    if profile.kind != "tokens" or changes is None or changes.counted < ENOUGH:
        return False
    return changes.quantiles[4] <= 1.0


_BLANK_ROWS = 0.1  # of the rows of a table,
_BLANK_PICTURES = 0.25  # of pictures and series, and of rows whose labels are not known
_ONE_THING = 0.9  # of the blank rows, below which they are not one thing that is blank by nature
_FILLED = 0.4  # of the tokens: no word of a text is that frequent
NEARLY = 0.05  # of its size: what a column may vary at most to be nearly one number
_NO_SPREAD = 0.05  # standardised inputs have 1


def coarse(profile: Profile) -> list[tuple[Column, int]]:
    """Columns whose values lie closer together than their 32-bit type can tell apart, and the steps it has for them."""
    found = []
    for column in profile.columns:
        if column.counted < ENOUGH or not column.quantiles:
            continue
        size = max(abs(column.quantiles[1]), abs(column.quantiles[5]))
        if size < 1 << 20:
            continue
        step = math.ldexp(1.0, math.frexp(size)[1] - 24)
        steps = int((column.quantiles[5] - column.quantiles[1]) / step)
        if 0 < steps < COARSE and column.distinct > 4:
            found.append((column, steps))
    return found


COARSE = 256  # steps for nine tenths of the values: fewer than a pixel has
