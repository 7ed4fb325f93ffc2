"""Whether a mask lies on its picture as it is, or would if it were turned or mirrored."""

from collections.abc import Callable, Iterable, Sequence
from math import comb
from typing import Any

from premortem.profile.facts import Profile
from premortem.profile.versions import is_augmented

STRAIGHT = "as it is"
_TURNS: dict[str, Callable[[Any], Any]] = {
    STRAIGHT: lambda m: m,
    "upside down": lambda m: m[::-1],
    "mirrored left to right": lambda m: m[:, ::-1],
    "turned by 180 degrees": lambda m: m[::-1, ::-1],
}
_OF_SQUARES: dict[str, Callable[[Any], Any]] = {
    "with rows and columns exchanged": lambda m: m.T,
    "turned by 90 degrees": lambda m: m.T[::-1],
    "turned by 270 degrees": lambda m: m.T[:, ::-1],
    "with rows and columns exchanged, from the other corner": lambda m: m.T[::-1, ::-1],
}
_SIDE = 32  # pixels that are looked at
LEVELS = 16  # different numbers in a mask
_CLEAR = 0.12  # of the differences between pixels, explained by the mask
_TIMES = 2.0  # as much as in any other way
_SOME = 0.2  # of the masks: a flip in two leaves half of them as they are
FEWEST = 10  # pairs that say which way they lie
_SHARE = 0.3  # of them, for a way that is wrong; one flip in two is half
_FITTING = 0.9  # of the masks say more of their own picture than of another one; without any relation half of them do
_GUESSED = 0.75  # ... at most: what is cut in two places still overlaps
_CHANCE = 1e-3  # that so few of the masks in training do, if they fitted as those of the evaluation
_NEXT = 3.0  # times as many as for any other wrong way: chance takes each of them


def way(picture: Any, mask: Any) -> str:
    """The one way in which the mask says much about the pixels; "" where no way does, or several do. (channels, height, width)"""
    laid = _made_small(picture, mask)
    if laid is None:
        return ""
    values, whole, codes = laid
    turns = {**_TURNS, **(_OF_SQUARES if codes.shape[0] == codes.shape[1] else {})}
    scores = {name: explained(values, whole, turn(codes)) for name, turn in turns.items()}
    best, next_best = sorted(scores.values())[:-3:-1]
    return max(scores, key=lambda name: scores[name]) if best > max(_CLEAR, _TIMES * next_best) else ""


def own_and_others(pairs: Sequence[tuple[Any, Any]]) -> tuple[int, int]:
    """How many masks say more about their own picture than the mask of the next one does, and how many were compared."""
    laid = [each for picture, mask in pairs if (each := _made_small(picture, mask)) is not None]
    others = [codes for _, _, codes in laid]
    better = sum(
        explained(values, whole, codes) > explained(values, whole, other)
        for (values, whole, codes), other in zip(laid, others[1:] + others[:1], strict=True)
    )
    return (better, len(laid)) if len(laid) > 1 else (0, 0)


def _made_small(picture: Any, mask: Any) -> tuple[Any, Any, Any] | None:
    """The pixels less their mean, by channels; the sum of their squares; and the levels of the mask. None: all are the same."""
    import numpy as np

    steps = [max(1, side // _SIDE) for side in mask.shape]
    small = mask[:: steps[0], :: steps[1]]
    values = picture[:, :: steps[0], :: steps[1]].astype("float64").reshape(len(picture), -1)
    levels, codes = np.unique(small, return_inverse=True)
    if not len(levels) >= 2:
        return None
    if len(levels) > LEVELS:
        bounds = np.quantile(small, np.linspace(0, 1, 9)[1:-1])
        codes = np.searchsorted(bounds, small.reshape(-1), side="right")
    values = values - values.mean(1, keepdims=True)
    whole = (values**2).sum(1)
    if not np.isfinite(whole).all() or not (whole > 0).any():
        return None
    return values, whole, codes.reshape(small.shape)


def explained(values: Any, whole: Any, codes: Any) -> float:
    """The share of the differences between pixels that lies between the levels of the mask, in the channel where it is largest."""
    import numpy as np

    flat = codes.reshape(-1)
    counts = np.bincount(flat)
    sums = np.stack([np.bincount(flat, weights=channel) for channel in values])
    between = (sums**2 / np.maximum(counts, 1)).sum(1)
    return float((between / np.where(whole > 0, whole, np.inf)).max())


def wrong(counts: Iterable[tuple[str, int]]) -> tuple[str, int, int] | None:
    """A way other than the straight one in which many masks lie: the way, how many, and of how many that say it."""
    found = dict(counts)
    total = sum(found.values())
    turned = sorted(((number, name) for name, number in found.items() if name != STRAIGHT), reverse=True)
    if total < FEWEST or not turned or turned[0][0] < _SHARE * total:
        return None
    if len(turned) > 1 and turned[0][0] < _NEXT * turned[1][0]:
        return None
    return turned[0][1], turned[0][0], total


def is_stored(profile: Profile) -> bool:
    """Not turned by a random transform: that leaves some as they are, and differs from pass to pass."""
    augmented = is_augmented(profile.versions)
    straight = dict(profile.laid).get(STRAIGHT, 0)
    return augmented is False or (augmented is None and straight < _SOME * sum(dict(profile.laid).values()))


def falls_apart(trained: tuple[int, int], judged: tuple[int, int]) -> bool:
    """Whether masks say nothing of their own pictures in training, and do in evaluation."""
    (some, count), (most, of) = trained, judged
    if min(count, of) < FEWEST or most < _FITTING * of or some > _GUESSED * count:
        return False
    return (
        sum(comb(count, k) * _FITTING**k * (1 - _FITTING) ** (count - k) for k in range(some + 1)) < _CHANCE
    )
