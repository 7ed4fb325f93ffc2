"""Whether a part of a column is in another unit: an experiment. Converted, the part looks like the rest; as it stands, it does not.

Many columns times many ways to cut a table times twenty conversions (and those of what the column is of) make coincidences, so four things must hold together:

- the part differs from the rest by far more than chance explains, as a part of that many rows;
- converted, it differs by no more than chance, or than the other parts differ among themselves;
- the conversion is singled out: with a factor a little smaller or larger the part would not fit;
- the part is like the rest in everything else: no other column differs by nearly as much. Rows of another site, time or group differ
  in several columns, and for a reason of their own.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from premortem.metric_words import words

# What people convert between. Each is tried in both directions.
CONVERSIONS: tuple[tuple[str, float, float], ...] = (
    ("ten times", 10.0, 0.0),
    ("a hundred times", 100.0, 0.0),
    ("a thousand times", 1000.0, 0.0),
    ("a million times", 1e6, 0.0),
    ("sixty times (minutes, seconds)", 60.0, 0.0),
    ("3,600 times (hours, seconds)", 3600.0, 0.0),
    ("24 times (days, hours)", 24.0, 0.0),
    ("12 times (years and months, feet and inches)", 12.0, 0.0),
    ("pounds and kilograms", 2.20462, 0.0),
    ("inches and centimetres", 2.54, 0.0),
    ("inches and millimetres", 25.4, 0.0),
    ("feet and metres", 3.28084, 0.0),
    ("feet and centimetres", 30.48, 0.0),
    ("miles and kilometres", 1.609344, 0.0),
    ("kilometres per hour and metres per second", 3.6, 0.0),
    ("square feet and square metres", 10.7639, 0.0),
    ("mg/dl and mmol/l of glucose", 18.018, 0.0),
    ("ounces and grams", 28.3495, 0.0),
    ("Fahrenheit and Celsius", 1.8, 32.0),
    ("Kelvin and Celsius", 1.0, 273.15),
)
# What people convert between where the column says of what it is. Of any column, so many factors would fit by chance.
_OF = {
    "calcium ca": (("mg/dl and mmol/l", 4.008, 0.0),),
    "cholesterol chol ldl hdl": (("mg/dl and mmol/l", 38.67, 0.0),),
    "creatinine creat crea scr": (("mg/dl and µmol/l", 88.42, 0.0),),
    "bilirubin bili": (("mg/dl and µmol/l", 17.104, 0.0),),
    "haemoglobin hemoglobin hb hgb": (("g/dl and mmol/l", 1.6114, 0.0),),
    "hba1c a1c": (("% and mmol/mol", 10.93, -23.5),),
    "lactate": (("mg/dl and mmol/l", 9.01, 0.0),),
    "triglycerides triglyceride trig tg": (("mg/dl and mmol/l", 88.57, 0.0),),
    "urate uric": (("mg/dl and µmol/l", 59.48, 0.0),),
    "urea bun": (("urea nitrogen in mg/dl and mmol/l", 2.801, 0.0), ("mg/dl and mmol/l of urea", 6.006, 0.0)),
    "angle heading bearing azimuth yaw pitch roll phase direction latitude longitude lat lon theta phi": (
        ("degrees and radians", 57.29578, 0.0),
    ),
    "area land lot": (("acres and hectares", 2.47105, 0.0),),
    "bytes size memory disk download upload bandwidth": (
        ("bits and bytes", 8.0, 0.0),
        ("1,024 times", 1024.0, 0.0),
        ("1,048,576 times", 1048576.0, 0.0),
    ),
    "energy energies enthalpy barrier gap homo lumo heat calories": (
        ("kcal and kJ", 4.184, 0.0),
        ("eV and kcal/mol", 23.0605, 0.0),
        ("hartree and eV", 27.2114, 0.0),
        ("eV and kJ/mol", 96.4853, 0.0),
        ("hartree and kcal/mol", 627.509, 0.0),
    ),
    "fuel volume consumption": (
        ("US gallons and litres", 3.78541, 0.0),
        ("gallons and litres", 4.54609, 0.0),
    ),
    "power": (("horsepower and kW", 1.34102, 0.0),),
    "pressure baro barometer": (
        ("mmHg and hPa", 1.33322, 0.0),
        ("psi and kPa", 6.89476, 0.0),
        ("kPa and mmHg", 7.50062, 0.0),
        ("psi and bar", 14.5038, 0.0),
        ("inHg and hPa", 33.8639, 0.0),
        ("atm and kPa", 101.325, 0.0),
    ),
    "speed wind gust velocity": (
        ("knots and km/h", 1.852, 0.0),
        ("knots and m/s", 1.94384, 0.0),
        ("miles per hour and m/s", 2.23694, 0.0),
    ),
}
_FEWEST = 20  # rows of a part that is compared
_VARIED = 5  # different values of a part: two heaps of a few values fit each other too easily
BEYOND = (
    3.0  # of Kolmogorov and Smirnov, by the root of the number of rows: chance exceeds it once in 30 million
)
CHANCE = 1.36  # ... once in 20
_ALIKE = 0.25  # ... and more is not alike, however much parts differ by nature
_TIMES = 2.0  # as far from the rest as parts differ by nature, and as every other column
_FITTING = 3  # conversions, at most: where feet, ounces and hours all fit, none is meant
_LARGE = 5.0  # times: a factor that groups of one thing seldom differ by
_NEXT = 1.25  # times: the neighbours of a small factor that must not fit,
_NEXT_LARGE = 2.0  # ... and those of a large one
_ALONE = 0.9  # of all rows lie on one side: what a column without others needs


class Converted(NamedTuple):
    parts: tuple[int, ...]  # those in the other unit
    how: str
    here: float  # the middle of these,
    rest: float  # ... and of the others
    large: bool


def conversions(column: str) -> tuple[tuple[str, float, float], ...]:
    """What a column of this name may have been converted by."""
    named = words(column)
    return CONVERSIONS + tuple(each for of, known in _OF.items() if named & set(of.split()) for each in known)


def odd_parts(
    parts: Sequence[Any], others: Sequence[Sequence[Any]] = (), column: str = ""
) -> Converted | None:
    """Of parts of one column, those in another unit. The smaller side of the widest gap between their medians is tried.

    `others` are the other columns, each cut into the same parts."""
    import numpy as np

    made = [part[np.isfinite(part)] for part in parts]
    used = [at for at, part in enumerate(made) if len(part) >= _FEWEST and len(np.unique(part)) > _VARIED]
    if len(used) < 2:
        return None
    middle = {at: float(np.median(made[at])) for at in used}
    positive = min(middle.values()) > 0
    order = sorted(used, key=middle.__getitem__)
    scale = [math.log(middle[at]) if positive else middle[at] for at in order]
    cut = int(np.argmax(np.diff(scale))) + 1
    low, high = order[:cut], order[cut:]
    for odd, rest in ((low, high), (high, low)):
        if sum(len(made[at]) for at in odd) <= sum(len(made[at]) for at in rest):
            found = converted([made[at] for at in odd], [made[at] for at in rest], conversions(column))
            if found is not None and _decided(found, odd, rest, others):
                return Converted(tuple(sorted(odd)), found.how, found.here, found.rest, found.large)
    return None


class _Found(NamedTuple):
    how: str
    here: float
    rest: float
    large: bool
    moved: bool  # also by a number, as degrees are
    apart: float  # how far the odd parts are from the rest as they stand


def converted(
    odd: Sequence[Any], rest: Sequence[Any], known: Sequence[tuple[str, float, float]] = CONVERSIONS
) -> _Found | None:
    """The conversion after which the odd parts lie on the rest, if it is singled out."""
    import numpy as np

    strange, whole = np.concatenate(odd), np.concatenate(rest)
    chance = math.sqrt(1 / len(strange) + 1 / len(whole))
    natural = max(_natural(odd), _natural(rest))
    apart = distance(strange, whole)
    if apart < max(BEYOND * chance, _TIMES * natural):
        return None
    like = max(CHANCE * chance, min(natural, _ALIKE))
    tried = sorted(
        (
            (distance(made, whole), how, factor, start, made)
            for how, factor, start in known
            for made in (strange * factor + start, (strange - start) / factor)
        ),
        key=lambda each: each[0],
    )
    left, _, factor, start, made = tried[0]
    if left > like or any(distance(next_to, whole) <= like for next_to in _neighbours(made, factor, start)):
        return None
    fitting = [each[1] for each in tried if each[0] <= like]
    if len(fitting) > _FITTING:
        return None
    how = " or ".join(fitting)
    here, there = float(np.median(strange)), float(np.median(whole))
    return _Found(how, here, there, factor >= _LARGE, start != 0, apart)


def _neighbours(made: Any, factor: float, start: float) -> tuple[Any, Any]:
    """The part as it would be with another factor, or, of degrees, with another start."""
    import numpy as np

    if start:
        low, high = np.quantile(made, (0.25, 0.75))
        return made - (high - low), made + (high - low)
    step = _NEXT_LARGE if factor >= _LARGE else _NEXT
    return made / step, made * step


def _natural(parts: Sequence[Any]) -> float:
    """How far parts are from each other, and halves of a part: what differs for a reason of its own."""
    pairs = [(part[: len(part) // 2], part[len(part) // 2 :]) for part in parts if len(part) >= 2 * _FEWEST]
    if len(parts) > 1:
        import numpy as np

        pairs += [(part, np.concatenate([p for p in parts if p is not part])) for part in parts]
    return max((distance(*pair) for pair in pairs), default=0.0)


def _decided(found: _Found, odd: Sequence[int], rest: Sequence[int], others: Sequence[Sequence[Any]]) -> bool:
    """Whether this column is the only one in which these rows differ from the rest, and no other reason is as likely as a unit.

    A group may well lie at twice the value of the others, so a small factor counts only where the odd parts are few among many that agree,
    or, of two files, where the other columns show that both were drawn alike."""
    import numpy as np

    compared = 0
    for column in others:
        one, two = (np.concatenate([column[at] for at in side]) for side in (odd, rest))
        one, two = one[np.isfinite(one)], two[np.isfinite(two)]
        if min(len(one), len(two)) >= _FEWEST:
            compared += 1
            chance = math.sqrt(1 / len(one) + 1 / len(two))
            if distance(one, two) > max(CHANCE * chance, found.apart / _TIMES):
                return False
    if compared == 0 and found.apart < _ALONE:
        return False
    if found.large or found.moved:
        return True
    return compared >= 2 if len(odd) + len(rest) == 2 else len(rest) >= max(3, 2 * len(odd))


def distance(one: Any, two: Any) -> float:
    """Between two samples, of Kolmogorov and Smirnov: the largest difference between their shares below any value."""
    import numpy as np

    one, two = np.sort(one), np.sort(two)
    places = np.concatenate([one, two])
    below = [np.searchsorted(each, places, side="right") / len(each) for each in (one, two)]
    return float(np.abs(below[0] - below[1]).max())


def heaps(values: Any) -> tuple[Any, Any] | None:
    """Two heaps of one column with nothing between them: the rows of each."""
    import numpy as np

    made = np.sort(values[np.isfinite(values)])
    made = made[made > 0]
    if len(made) < 100 or made[0] == made[-1]:
        return None
    steps = np.diff(np.log(made))
    edge = max(20, len(made) // 50)
    at = int(np.argmax(steps[edge:-edge])) + edge + 1
    gap = steps[at - 1]
    if gap < 10 * max(float(np.quantile(steps, 0.95)), 1e-9) or gap < 0.2:
        return None
    # Within each of them there is no such gap, up to its thin ends.
    for heap in (made[:at], made[at:]):
        ends = len(heap) // 20
        inner = np.diff(np.log(heap[ends : len(heap) - ends]))
        if len(inner) < 20 or inner.max() > gap / 3:
            return None
    return np.flatnonzero((values > 0) & (values < made[at])), np.flatnonzero(values >= made[at])
