"""Which checkpoints stay. Pure: records in, names out.

    newest 3      what a resume wants
    best 1        what a paper wants: finite metric, finite weights
    every 10000   what an autopsy wants: steps that are multiples of it

Whatever the numbers say, the newest one that is verified and healthy stays, and so does one that a mirror has not
confirmed. When the disk is full, all but that newest one may go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from premortem.errors import UsageError


@dataclass(frozen=True)
class Kept:
    """One checkpoint, as far as retention is concerned."""

    name: str
    step: int
    time: float = 0.0  # when it was saved; steps begin anew when a training does
    bytes: int = 0
    healthy: bool = True
    mirrored: bool = True  # or there is no mirror
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Best:
    """`val_psnr:max`: the metric, and which end of it is the good one."""

    metric: str
    largest: bool

    @classmethod
    def parse(cls, words: str) -> Best:
        metric, _, end = words.rpartition(":")
        if not metric or end not in {"max", "min"}:
            raise UsageError(
                f'best="{words}" says no direction; write best="val_loss:min" or best="val_psnr:max"'
            )
        return cls(metric, end == "max")

    def ranked(self, kept: Iterable[Kept]) -> list[Kept]:
        """The candidates, best first. A checkpoint with a metric or weights that are not finite is not a candidate."""
        able = [
            each for each in kept if each.healthy and math.isfinite(each.metrics.get(self.metric, math.nan))
        ]
        sign = -1.0 if self.largest else 1.0
        return sorted(able, key=lambda each: (sign * each.metrics[self.metric], *_latest_first(each)))


@dataclass(frozen=True, kw_only=True)
class Retention:
    """What to keep."""

    newest: int = 3
    best: int = 1
    every: int | None = None
    bytes: int | None = None  # the most that all checkpoints together may take

    def __post_init__(self) -> None:
        if self.newest < 1:
            raise UsageError("a vault that keeps none of its newest checkpoints is none; keep at least 1")
        if self.best < 0 or (self.every is not None and self.every < 1):
            raise UsageError("best= must not be negative, and every= must be at least 1")

    def surplus(self, kept: Sequence[Kept], by: Best | None = None) -> list[Kept]:
        """What may be deleted, oldest first."""
        ordered = sorted(kept, key=_age)
        stay = {each.name for each in ordered[-self.newest :]}
        stay |= {each.name for each in ordered if not each.mirrored}
        if by is not None:
            stay |= {each.name for each in by.ranked(ordered)[: self.best]}
        if self.every is not None:
            stay |= {each.name for each in ordered if each.step % self.every == 0}
        stay |= last_good(ordered)
        surplus = [each for each in ordered if each.name not in stay]
        return surplus + self._over_budget([each for each in ordered if each.name in stay], by)

    def _over_budget(self, staying: list[Kept], by: Best | None) -> list[Kept]:
        """A budget outweighs every wish, but neither the last good checkpoint nor the mirror's promise."""
        if self.bytes is None:
            return []
        total, gone = sum(each.bytes for each in staying), []
        for each in under_pressure(staying, by):
            if total <= self.bytes:
                break
            if each.mirrored:
                gone.append(each)
                total -= each.bytes
        return gone


def under_pressure(kept: Sequence[Kept], by: Best | None = None) -> list[Kept]:
    """In which order checkpoints go when there is no room: oldest first, the best late, the last good one never."""
    ordered = sorted(kept, key=_age)
    dear = {each.name for each in by.ranked(ordered)[:1]} if by is not None else set()
    able = [each for each in ordered if each.name not in last_good(ordered)]
    return sorted(able, key=lambda each: (each.name in dear, *_age(each)))


def last_good(kept: Sequence[Kept]) -> set[str]:
    """The newest healthy one; where there is none, the newest."""
    ordered = sorted(kept, key=lambda each: (each.healthy, *_age(each)))
    return {ordered[-1].name} if ordered else set()


def _age(kept: Kept) -> tuple[float, int]:
    return kept.time, kept.step


def _latest_first(kept: Kept) -> tuple[float, int]:
    return -kept.time, -kept.step
