"""Whether a part of a column is in another unit: an experiment. Converted, it is distributed as the rest is, and as it stands it is not.

How far parts differ by nature shows among the others: these have to agree much better than the odd ones do.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
_POINTS = (0.1, 0.25, 0.5, 0.75, 0.9)
_NEAR = 0.35  # distances between the quartiles of the rest: how far a converted part may lie from it at any of these points
_FAR = 1.5  # ... and how far it lies as it is, at least
_TIMES = 4.0  # nearer than before, and farther than the others are from each other
_LONELY = 0.2  # as `_NEAR`, where there are too few other parts to say what is natural
_LARGE = 5.0  # times: a factor that groups of one thing seldom differ by


class Converted(NamedTuple):
    parts: tuple[int, ...]  # those in the other unit
    how: str
    here: float  # the middle of these,
    rest: float  # ... and of the others
    large: bool


def points(values: Any) -> Any:
    import numpy as np

    return np.quantile(values[np.isfinite(values)], _POINTS)


def odd_parts(parts: Sequence[Any]) -> Converted | None:
    """Of parts of one column, those in another unit. The smaller side of the widest gap between their medians is tried."""
    import numpy as np

    made = [part[np.isfinite(part)] for part in parts]
    used = [at for at, part in enumerate(made) if len(part) >= 20 and len(np.unique(part)) > 5]
    if len(used) < 2:
        return None
    middle = {at: float(np.median(made[at])) for at in used}
    positive = min(middle.values()) > 0
    order = sorted(used, key=middle.__getitem__)
    scale = [np.log(middle[at]) if positive else middle[at] for at in order]
    cut = int(np.argmax(np.diff(scale))) + 1
    low, high = order[:cut], order[cut:]
    size = [sum(len(made[at]) for at in side) for side in (low, high)]
    sides = ((low, high), (high, low)) if size[0] <= size[1] else ((high, low), (low, high))
    for odd, rest in sides:
        if sum(len(made[at]) for at in odd) > sum(len(made[at]) for at in rest):
            break
        found = converted([made[at] for at in odd], [made[at] for at in rest])
        if found is not None:
            return Converted(tuple(sorted(odd)), *found)
    return None


def converted(odd: Sequence[Any], rest: Sequence[Any]) -> tuple[str, float, float, bool] | None:
    """The conversion after which the odd parts lie on the rest."""
    import numpy as np

    whole, strange = points(np.concatenate(rest)), points(np.concatenate(odd))
    width = whole[3] - whole[1]
    if width <= 0 or strange[3] <= strange[1]:
        return None
    raw = distance(strange, whole)
    natural = max((distance(points(part), whole) for part in rest), default=0.0)
    best: tuple[float, str, float] | None = None
    for how, factor, start in CONVERSIONS:
        for made in (strange * factor + start, (strange - start) / factor):
            apart = float(np.abs(made - whole).max() / width)
            if best is None or apart < best[0]:
                best = apart, how, factor
    if best is None:
        return None
    apart, how, factor = best
    few = len(rest) < 3
    near = (_LONELY if few else _NEAR) if factor < _LARGE or few else max(_NEAR, min(1.0, natural))
    if apart > near or raw < _FAR or raw < _TIMES * apart or (not few and raw < _TIMES * natural):
        return None
    return how, float(strange[2]), float(whole[2]), factor >= _LARGE


def distance(part: Any, whole: Any) -> float:
    """How far a part lies from the whole at the farthest of the points, by the width of the narrower one: a piece of a column that grows
    is narrow and far away, and so are all other pieces."""
    import numpy as np

    width = min(part[3] - part[1], whole[3] - whole[1]) or max(part[3] - part[1], whole[3] - whole[1])
    return float(np.abs(part - whole).max() / width) if width > 0 else 0.0


def mixture(values: Any) -> tuple[str, float, float, int] | None:
    """Two heaps in one column, with nothing between them, of which one is the other in another unit: how, both medians, and how many."""
    import numpy as np

    made = np.sort(values[np.isfinite(values)])
    made = made[made > 0]
    if len(made) < 100 or made[0] == made[-1]:
        return None
    steps = np.diff(np.log(made))
    edge = max(20, len(made) // 50)
    inner = steps[edge:-edge]
    at = int(np.argmax(inner)) + edge + 1
    usual = float(np.quantile(steps, 0.95))
    if steps[at - 1] < 10 * max(usual, 1e-9) or steps[at - 1] < 0.2:
        return None
    small, large = made[:at], made[at:]
    # Two heaps: within each of them there is no such gap, up to its thin ends.
    for heap in (small, large):
        ends = len(heap) // 20
        inner = np.diff(np.log(heap[ends : len(heap) - ends]))
        if len(inner) < 20 or inner.max() > steps[at - 1] / 3:
            return None
    odd, rest = (small, large) if len(small) < len(large) else (large, small)
    found = converted([odd], [rest])
    if found is None or not found[3]:
        return None
    return found[0], found[1], found[2], len(odd)
