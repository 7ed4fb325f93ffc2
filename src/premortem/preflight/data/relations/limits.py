"""Sound, and other signals in whole numbers, against the ends of their type: cut off there, or gone round."""

from typing import Any

_FEWEST = 1000  # values
_NOISE = 0.7  # roughness
_SMOOTH = 0.3
_LONG = 64  # values of a signal whose speed may be asked for
_SHORTEST = 100  # values of one signal
_NEAR = 0.75  # of the way to the end: a signal that reaches the end comes through there, a mark for a gap does not
_JUMPS = 0.005  # of the steps cross more than half of the range
_BINS = 16
_EVENLY = 0.25  # deviation of the bins of the whole range, in means: what fills it evenly goes round by nature, as an angle does
_ROUGHER = 4.0  # times as rough as it stands, as it is with these steps taken the other way round; white noise: twice


def at_the_ends(values: Any) -> float:
    """The share of whole numbers that are the lowest or the highest of their type; 0 where nothing lies near."""
    import numpy as np

    if values.dtype.kind != "i" or values.dtype.itemsize not in {2, 4} or values.size < _FEWEST:
        return 0.0
    ends = np.iinfo(values.dtype)
    share = float(((values == ends.min) | (values == ends.max)).mean())
    inside = np.abs(values[(values > ends.min) & (values < ends.max)].astype("float64"))
    return share if (inside > _NEAR * ends.max).any() else 0.0


def is_swapped(signals: Any) -> bool:
    """Whether signals are noise as they stand, and smooth once the bytes of each number are exchanged. (n, times)"""
    import numpy as np

    if (
        signals.dtype.kind not in "iu"
        or signals.dtype.itemsize != 2
        or signals.ndim != 2
        or signals.shape[1] < 16
    ):
        return False
    stands, other = roughness(signals, np), roughness(signals.byteswap(), np)
    return stands > _NOISE and other < _SMOOTH


def roughness(signals: Any, np: Any) -> float:
    """How far a number is from the one before it, against how far it is from any other: 1 for noise."""
    made = signals.astype("float64")
    spread = float(made.var(axis=1).mean())
    return float((np.diff(made, axis=1) ** 2).mean()) / (2 * spread) if spread > 0 else 1.0


def roughly(signals: Any) -> tuple[float, float, float] | None:
    """The roughness of signals one by one, at 5, 50 and 95 % of them. (n, times)"""
    import numpy as np

    if signals.ndim != 2 or signals.shape[1] < _LONG or len(signals) < 1:
        return None
    made = signals.astype("float64")
    made = made[np.isfinite(made).all(1)]
    spread = made.var(axis=1)
    made, spread = made[spread > 0], spread[spread > 0]
    if not len(made):
        return None
    found = (np.diff(made, axis=1) ** 2).mean(1) / (2 * spread)
    low, middle, high = np.quantile(found, [0.05, 0.5, 0.95]).tolist()
    return low, middle, high


def goes_round(signal: Any) -> bool:
    """Whether a signal is smooth once steps of more than half of its range are taken the other way round. (n) or (n, channels)"""
    import numpy as np

    if signal.dtype.kind != "i" or signal.dtype.itemsize != 2 or len(signal) < _SHORTEST:
        return False
    if at_the_ends(signal) > _JUMPS:
        return False  # it was cut there
    steps = np.diff(signal.astype("int64"), axis=0)
    jumps = np.abs(steps) > 1 << 15
    if jumps.mean() < _JUMPS or fills_evenly(signal, np):
        return False
    other = np.where(jumps, steps - np.sign(steps) * (1 << 16), steps)
    return bool((steps.astype("float64") ** 2).mean() > _ROUGHER * (other.astype("float64") ** 2).mean())


def fills_evenly(signal: Any, np: Any) -> bool:
    """An angle in a type whose two ends are one direction."""
    ends = np.iinfo(signal.dtype)
    counts = np.histogram(signal, _BINS, (ends.min, ends.max))[0]
    return bool(counts.std() <= _EVENLY * counts.mean())
