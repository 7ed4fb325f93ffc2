"""Values that are checked before anything is decided by them."""

import math
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Mode = Literal["max", "min"]


class Best(NamedTuple):
    value: float
    step: int


class Refused(NamedTuple):
    name: str
    value: float
    step: int
    reason: str


class Metrics:
    """Stands between an evaluation and what believes it: logger, scheduler, best checkpoint.

    ## Why it matters
    ReduceLROnPlateau counts NaN as a bad epoch and cuts the rate for it. `value > best` with a `best` that once became NaN
    is False for ever. An average over nothing is NaN, a swallowed error often 0.0 or 999.0. So a value is taken only if
    it is finite and in the range you state; what is refused is kept, with its reason, and reported once for each name.

    ## Example
    >>> import math
    >>> from premortem.parts import Metrics
    >>> metrics = Metrics({"psnr": (5, 60), "val_loss": (0, math.inf)})
    >>> metrics.add(psnr=28.5, val_loss=0.4)
    {'psnr': 28.5, 'val_loss': 0.4}
    >>> metrics.add(psnr=math.nan, val_loss=0.3)
    {'val_loss': 0.3}
    >>> metrics.refused[0].reason
    'it is nan, not a finite number'
    >>> metrics.best("psnr", mode="max")
    Best(value=28.5, step=1)
    >>> metrics.is_best("val_loss", mode="min"), metrics.is_best("psnr", mode="max")
    (True, False)

    `logger.log(metrics.add(...))` shows the logger only what holds, and `metrics.feed(scheduler, "val_loss")` calls
    `scheduler.step` only with such a value. `metrics.refused` lists the rest.
    """

    def __init__(self, ranges: Mapping[str, tuple[float, float]] | None = None) -> None:
        self._ranges = dict(ranges or {})
        for name, (low, high) in self._ranges.items():
            if not low <= high:
                raise ValueError(f"the range of {name}, from {low} to {high}, is empty")
        self._taken: dict[str, list[Best]] = {}
        self._latest: dict[str, float | None] = {}  # None: the latest one was refused
        self._step = 0
        self.refused: list[Refused] = []

    def add(
        self, values: Mapping[str, Any] | None = None, /, *, step: int | None = None, **named: Any
    ) -> dict[str, float]:
        """One evaluation. Returns what holds. A value is a number, or a tensor or array that holds one."""
        self._step = self._step + 1 if step is None else step
        return dict(self._holding({**(values or {}), **named}))

    def refuse(self, reasons: Mapping[str, str]) -> list[Refused]:
        """Names of the latest evaluation that have no value, each with its reason: an evaluation that could not be finished."""
        refused = [Refused(name, math.nan, self._step, reason) for name, reason in reasons.items()]
        for each in refused:
            self._latest[each.name] = None
            self._refuse(each)
        return refused

    def best(self, name: str, mode: Mode) -> Best | None:
        """The best value that held, and its step; the first of equals. None when there is none."""
        choose = {"max": max, "min": min}[mode]
        return choose(self._taken.get(name, ()), key=lambda each: each.value, default=None)

    def is_best(self, name: str, mode: Mode) -> bool:
        """Whether the latest value of this name held and beats all before it: the moment to save."""
        return self._latest.get(name) is not None and self.best(name, mode) == self._taken[name][-1]

    def feed(self, scheduler: Any, name: str) -> bool:
        """`scheduler.step(latest)` for a scheduler that wants a metric. False, and no step, when the latest was refused."""
        if name not in self._latest:
            raise KeyError(f"no value of {name} was added yet")
        latest = self._latest[name]
        if latest is not None:
            scheduler.step(latest)
        return latest is not None

    def _holding(self, values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
        for name, given in values.items():
            value = float(given)
            reason = self._against(name, value)
            self._latest[name] = None if reason else value
            if reason:
                self._refuse(Refused(name, value, self._step, reason))
            else:
                self._taken.setdefault(name, []).append(Best(value, self._step))
                yield name, value

    def _against(self, name: str, value: float) -> str:
        if not math.isfinite(value):
            return f"it is {value}, not a finite number"
        low, high = self._ranges.get(name, (-math.inf, math.inf))
        return "" if low <= value <= high else f"it is {value:g}, outside of {low:g} to {high:g}"

    def _refuse(self, refused: Refused) -> None:
        if all(earlier.name != refused.name for earlier in self.refused):
            warnings.warn(
                f"the metric {refused.name} was refused at step {refused.step}: {refused.reason}",
                stacklevel=_levels(),
            )
        self.refused.append(refused)


def _levels() -> int:
    """How far up the first caller is that is none of the parts."""
    frame, levels, ours = sys._getframe(1), 1, os.path.dirname(__file__)  # noqa: SLF001, PTH120 - as frames name it
    while frame.f_back is not None and os.path.dirname(frame.f_code.co_filename) == ours:  # noqa: PTH120 - likewise
        frame, levels = frame.f_back, levels + 1
    return levels
