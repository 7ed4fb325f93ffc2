"""What is compared between two trials, and how much of a difference is chance. Pure.

    loss     of the backward passes, where one line makes all of them: two lines that take turns (a GAN) have no common loss
    fit      how well predictions follow targets: means the same whatever a change makes of the loss
    printed  metrics that the script prints, by their names

Each has a scale: what it was at the beginning for a loss, 1 or 100 for a share. Gains are parts of that scale.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from premortem.metric_words import EVALUATED, SCORES, direction, words
from premortem.why.order import Result

MOST_GAIN = 1.0
LEAST_NOISE = 0.02  # of the scale: seeds that happen to agree prove nothing
BEYOND = 3.0  # deviations of the noise
LEARNS = 0.05  # of the scale, from the beginning to the end
_NEARLY = 0.8
_FEW, _MANY = 3, 10  # values before something is a series; before its mean over the run means something
_SHARE = 0.2  # of all backward passes, for a line to count; of a series, for its end
_REWARDS = frozenset({"reward", "rewards", "return", "returns", "score"})
_ROUNDING = 1e-3  # of a loss: sums in another order differ by less
_MOVED = 1.5  # times as large: batches of the same data differ by less
_NEAR = 0.05  # generated samples that begin nearer than that have nothing to learn that could be seen
_PERCENT = 1.5  # a share that is higher was printed in percent
# Errors in the units of the target, distances of pictures: they stay what they are when the loss is another one.
_OWN_SCALE = frozenset({"mae", "rmse", "err", "error", "wer", "cer", "mape", "fid", "lpips"})


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    name: str
    better: int  # 1: higher, -1: lower
    scale: float
    of_loss: bool  # it means something else once a change alters the loss
    read: Callable[[Result], Sequence[float]]
    worst: float = math.inf  # what counts for a value that is not finite
    whole: bool = False  # the mean over the run instead of its end: less noise
    evaluated: bool = False  # measured without training: what is only for training does not touch it

    def value(self, result: Result) -> float:
        series = self.read(result)
        if not series:
            return math.nan
        capped = [self._capped(each) for each in series]
        return statistics.fmean(capped) if self.whole else end(capped)

    def progress(self, result: Result) -> float:
        """How much was learned from the beginning to the end, as a part of the scale."""
        series = [self._capped(each) for each in self.read(result)]
        if len(series) < _FEW:
            return math.nan
        return self.better * (end(series) - statistics.median(series[:_FEW])) / self.scale

    def _capped(self, value: float) -> float:
        if not math.isfinite(value):
            return self.worst
        return min(value, self.worst) if self.better < 0 else value


@dataclass(frozen=True, kw_only=True)
class Gain:
    """One yardstick of a trial against the same of the run as it is."""

    yardstick: str
    size: float  # in parts of the scale; negative: worse
    sigmas: float  # in deviations of the noise
    as_is: float
    changed: float
    ratio: float  # progress with the change over progress as it is
    learned: float = math.nan  # with the change, from where the run as it is began, as a part of the scale
    rest: float = 1.0  # what is left to learn as it is over what is left with the change
    evaluated: bool = False


NO_GAIN = Gain(yardstick="", size=0.0, sigmas=0.0, as_is=math.nan, changed=math.nan, ratio=1.0)


def end(series: Sequence[float]) -> float:
    """The mean of the last fifth."""
    return statistics.fmean(series[-max(1, int(len(series) * _SHARE)) :])


def yardsticks(first: Result) -> list[Yardstick]:
    """Those that the run as it is has enough values for."""
    found: list[Yardstick] = []
    lines = loss_lines(first)
    if (
        len(lines) == 1
    ):  # of two that work against each other, neither a loss nor its targets say how well it goes
        found += [] if targets_move(first) else _of_loss(lines[0], first)
        for kind in ("train", "eval"):
            if len(first.fits.get(kind, ())) >= _FEW:
                found.append(_of_fit(kind, whole=False))
        if len(first.fits.get("train", ())) >= _MANY:
            found.append(_of_fit("train", whole=True))
    elif len(first.apart) >= _FEW and _begin(first.apart) >= _NEAR:
        found.append(_of_generated(first))
    printed = [each for name, values in first.printed.items() for each in _of_print(name, values)]
    # Where losses work against each other, or targets grow with the model, a lower one is no success, on whatever samples.
    common = len(lines) == 1 and not targets_move(first)
    return found + [each for each in printed if common or not each.of_loss]


def cut(result: Result, backwards: int) -> Result:
    """What was known of it after so many backward passes."""
    part = min(1.0, backwards / max(1, result.backwards))

    def shorter(kinds: Mapping[str, list[float]]) -> dict[str, list[float]]:
        return {name: series[: math.ceil(len(series) * part - 1e-9)] for name, series in kinds.items()}

    return replace(
        result,
        losses=shorter(result.losses),
        fits=shorter(result.fits),
        printed=shorter(result.printed),
        apart=result.apart[: math.ceil(len(result.apart) * part - 1e-9)],
        backwards=int(result.backwards * part),
        steps=int(result.steps * part),
    )


def other_start(as_is: Result, changed: Result) -> str:
    """What differs where nothing may: two runs that have made the same first step."""
    for line in loss_lines(as_is):
        before, after = as_is.losses[line][1], changed.losses.get(line, [math.nan] * 2)[1]
        if abs(after - before) > _ROUNDING * max(abs(before), _ROUNDING):
            return f"the same weights have another loss, {after:.4g} instead of {before:.4g}"
    return ""


def unlike(as_is: Result, changed: Result) -> str:
    """The first losses of two runs under one seed, where they are not the same though nothing was changed before them."""
    for line in loss_lines(as_is):
        before, after = as_is.losses[line][0], changed.losses.get(line, [math.nan])[0]
        if abs(after - before) > _ROUNDING * max(abs(before), _ROUNDING):
            return f"{before:.5g} and {after:.5g}"
    return ""


def loss_lines(result: Result) -> list[str]:
    """The lines that call backward() often enough to count."""
    enough = max(_FEW, _SHARE * result.backwards)
    return [line for line, values in result.losses.items() if len(values) >= enough]


def _of_loss(line: str, first: Result) -> list[Yardstick]:
    values = [each for each in first.losses[line] if math.isfinite(each)]
    if not values:
        return []
    begin = statistics.median(values[:_FEW])
    scale = abs(begin) if min(values) >= 0 else max(abs(begin), max(values) - min(values))
    if scale < 1e-12:
        return []
    return [
        Yardstick(
            name="loss",
            better=-1,
            scale=scale,
            of_loss=True,
            read=lambda result: result.losses.get(line, ()) or next(iter(result.losses.values()), ()),
            worst=begin + scale,
        )
    ]


def _of_fit(kind: str, *, whole: bool) -> Yardstick:
    name = f"{'training' if kind == 'train' else 'evaluation'} fit{', whole run' if whole else ''}"
    return Yardstick(
        name=name,
        better=1,
        scale=1.0,
        of_loss=False,
        read=lambda result: result.fits.get(kind, ()),
        worst=0.0,
        whole=whole,
        evaluated=kind == "eval",
    )


def _begin(series: Sequence[float]) -> float:
    return statistics.median(series[:_FEW])


def _of_generated(first: Result) -> Yardstick:
    return Yardstick(
        name="distance of generated from real samples",
        better=-1,
        scale=_begin(first.apart),
        of_loss=False,
        read=lambda result: result.apart,
        worst=1.0,
    )


def _of_print(name: str, values: Sequence[float]) -> list[Yardstick]:
    finite = [each for each in values if math.isfinite(each)]
    named = words(name)
    # "val 0.31" is a loss where it falls while the script trains; where it rises it may be an accuracy, or one that gets worse.
    falls = len(finite) > 1 and statistics.median(finite[-_FEW:]) < _begin(finite)
    better = direction(name) or (
        1 if named & (SCORES | _REWARDS) else -1 if named & EVALUATED and falls else 0
    )
    if len(finite) < _FEW or not better:
        return []
    if better > 0:
        reward = bool(named & _REWARDS)
        spread = max(finite) - min(finite)
        scale = max(spread, abs(finite[0]), 1e-12) if reward else 100.0 if max(finite) > _PERCENT else 1.0
        worst = min(finite)
    else:
        scale = max(abs(finite[0]), 1e-12)
        worst = finite[0] + scale
    return [
        Yardstick(
            name=f"printed {name}",
            better=better,
            scale=scale,
            of_loss=better < 0 and not named & _OWN_SCALE,
            read=lambda result: result.printed.get(name, ()),
            worst=worst,
            evaluated=bool(named & EVALUATED),
        )
    ]


def noise(sticks: Sequence[Yardstick], seeds: Sequence[Result]) -> dict[str, float]:
    """How far runs that differ in nothing but chance lie apart."""
    found = {}
    for stick in sticks:
        values = [value for value in map(stick.value, seeds) if math.isfinite(value)]
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        found[stick.name] = max(spread, LEAST_NOISE * stick.scale)
    return found


def compare(
    sticks: Sequence[Yardstick],
    chance: Mapping[str, float],
    as_is: Result,
    changed: Result,
    *,
    same_loss: bool,
    evaluated: bool = False,
) -> list[Gain]:
    """The gain of each yardstick that still means what it meant, the largest first. `evaluated`: of those alone that
    are measured without training, where there are any; else of those that are no loss."""
    gains = []
    only = evaluated and any(stick.evaluated for stick in sticks)
    for stick in sticks:
        before, after = stick.value(as_is), stick.value(changed)
        other = not stick.evaluated if only else stick.of_loss and (evaluated or not same_loss)
        if math.isnan(before) or math.isnan(after) or other:
            continue
        difference = stick.better * (after - before)
        gains.append(
            Gain(
                yardstick=stick.name,
                size=max(-MOST_GAIN, min(MOST_GAIN, difference / _scale(stick, changed))),
                sigmas=difference / chance[stick.name],
                as_is=before,
                changed=after,
                ratio=_ratio(stick.progress(changed), stick.progress(as_is)),
                learned=stick.better * (after - _begin(stick.read(as_is))) / stick.scale,
                rest=_rest(stick, before, after),
                evaluated=stick.evaluated,
            )
        )
    best = max((gain.size for gain in gains), default=0.0)
    # A person looks at the loss first, where it shows nearly as much.
    return sorted(
        gains, key=lambda gain: (gain.yardstick != "loss" or not 0 < _NEARLY * best <= gain.size, -gain.size)
    )


def _ratio(after: float, before: float) -> float:
    if math.isnan(after) or math.isnan(before):
        return 1.0
    return max(after, 0.0) / max(before, 0.01)


def _scale(stick: Yardstick, changed: Result) -> float:
    """Where a change lowers the very first loss, that one: weights that are too large make a loss that says nothing about
    how much there is to learn."""
    if stick.name != "loss":
        return stick.scale
    first = abs(next(iter(stick.read(changed)), stick.scale))
    return first if _ROUNDING * stick.scale < first < stick.scale else stick.scale


def _rest(stick: Yardstick, before: float, after: float) -> float:
    """A loss that falls to a third, a share of errors that does."""
    if stick.better > 0:
        before, after = stick.scale - before, stick.scale - after
    return before / max(after, 0.01 * stick.scale) if before > 0 else 1.0


def learns(sticks: Sequence[Yardstick], chance: Mapping[str, float], seeds: Sequence[Result]) -> bool:
    """Whether the runs as they are get better on some yardstick, all of them, by more than chance. Without one it is not known,
    and taken as true."""
    judged = [stick for stick in sticks if not stick.whole]
    if not judged:
        return True
    for stick in judged:
        steps = [stick.progress(result) for result in seeds]
        least = max(LEARNS, 2 * chance[stick.name] / stick.scale if stick.of_loss else LEARNS)
        if all(each > min(least, 0.5) for each in steps if not math.isnan(each)) and not all(
            map(math.isnan, steps)
        ):
            return True
    return False


def by_heart(sticks: Sequence[Yardstick], seeds: Sequence[Result]) -> bool:
    """Of runs that learn: there are evaluations, and none of them gets better in all runs. That may be because they were good
    from the beginning."""
    steps = [
        [each for each in map(stick.progress, seeds) if not math.isnan(each)]
        for stick in sticks
        if stick.evaluated
    ]
    known = [each for each in steps if each]
    return bool(known) and not any(min(each) > LEARNS for each in known)


def diverges(result: Result) -> bool:
    """The loss is not finite, or far above where it began."""
    for line in loss_lines(result):
        series = result.losses[line]
        begin = statistics.median(series[:_FEW])
        last = series[-max(1, int(len(series) * _SHARE)) :]
        if any(not math.isfinite(each) for each in series):
            return True
        if begin > 0 and statistics.median(last) > 2 * begin and not targets_move(result):
            return True
    return False


def targets_move(result: Result) -> bool:
    """What predictions are to follow is larger or smaller at the end, as values are that are learned from rewards: the loss moves
    with it, and says nothing about how well they follow."""
    series = [each for each in result.targets if math.isfinite(each)]
    if len(series) < _MANY:
        return False
    begin, last = end(series[::-1]), end(series)
    return max(begin, last) > _MOVED * min(begin, last)
