"""What a script hands to a tracker and prints nowhere, read as a printed line is: metrics of an evaluation alone.

    writer.add_scalar("val/loss", 0.53, epoch)      TensorBoard, tensorboardX, and Lightning's logger of that name
    wandb.log({"val/loss": 0.53})                   W&B, and the `log` of its run
    mlflow.log_metric("val/loss", 0.53)             ... and log_metrics
    writer.log_metrics({"val/loss": 0.53})          Lightning's CSV logger

The first time a metric is recorded it is compared with what was printed: one that is printed as well is left to the
printed lines. Numbers on a GPU are not read: that would wait for it. Trackers are looked for at the first step; one that is
imported later is not heard.
"""

from __future__ import annotations

import math
import numbers
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch

from premortem.events import LogLine
from premortem.metric_words import EVALUATED, RECORDS, SCORES, TRAINED, words
from premortem.probes.session import Session

# module, class, method
_TRACKERS = (
    ("torch.utils.tensorboard.writer", "SummaryWriter", "add_scalar"),
    ("tensorboardX.writer", "SummaryWriter", "add_scalar"),
    ("wandb", "", "log"),
    ("wandb.sdk.wandb_run", "Run", "log"),
    ("mlflow", "", "log_metric"),
    ("mlflow", "", "log_metrics"),
    ("lightning.fabric.loggers.csv_logs", "_ExperimentWriter", "log_metrics"),
    ("lightning_fabric.loggers.csv_logs", "_ExperimentWriter", "log_metrics"),
)
_PRINTED = 512  # numbers that are remembered: the lines of the last evaluations
_MOST = 256  # names
_RATE = 20  # numbers in a second: an evaluation has fewer, and an agent that records every episode is not slowed down for it


class RecordedMetrics:
    def __init__(self, session: Session) -> None:
        self.session = session
        self._printed: deque[tuple[str, float]] = deque(maxlen=_PRINTED)
        self._names: dict[str, bool | float] = {}  # whether it is passed on; a number: its first value
        self._second, self._heard = -1, 0

    def look_for_trackers(self) -> None:
        for module, name, method in _TRACKERS:
            owner: Any = sys.modules.get(module)
            owner = getattr(owner, name, None) if name else owner
            if callable(getattr(owner, method, None)):
                self.session.around(owner, method, after=partial(self._recorded, method=bool(name)))

    def printed(self, line: LogLine) -> None:
        self._printed.extend((text, value) for _, text, value in line.values)

    def _recorded(self, note: Any, result: Any, *args: Any, method: bool = True, **kwargs: Any) -> None:
        for name, value in _given(args[method:], kwargs):
            if self._names.get(name) is False:
                continue
            number = _number(value)
            if number is not None and self._passes(name, number) and self._has_time():
                text = f"{number:.6g}"
                values = ((name.lower(), text, number),)
                self.session.emit(LogLine(text=f"{name} {text}", template=f"{name} #", values=values))

    def _has_time(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._heard = second, 0
        self._heard += 1
        return self._heard <= _RATE

    def _passes(self, name: str, value: float) -> bool:
        known = self._names.get(name)
        if isinstance(known, bool):
            return known
        if known is None:
            if len(self._names) < _MOST:
                self._names[name] = value if _is_of_an_evaluation(name) else False
            return False
        self._names[name] = not any(_same(known, text, number) for text, number in self._printed)
        return bool(self._names[name])


def _is_of_an_evaluation(name: str) -> bool:
    found = words(name)
    return not found & RECORDS and bool(found & EVALUATED or (found & SCORES and not found & TRAINED))


def _given(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A dictionary of numbers, or a name and its number."""
    first, *rest = [*args, *kwargs.values()] or [None]
    if isinstance(first, Mapping):
        yield from ((str(name), value) for name, value in first.items())
    elif isinstance(first, str) and rest:
        yield first, rest[0]


def _number(value: Any) -> float | None:
    if isinstance(value, torch.Tensor):
        near = value.device.type == "cpu" and not value.is_complex()
        return float(value) if near and value.numel() == 1 else None
    kind = type(value)
    # An array of another library may lie on a GPU.
    single = (
        kind.__module__ == "numpy"
        and kind.__name__ == "ndarray"
        and value.ndim == 0
        and value.dtype.kind in "fiu"
    )
    plain = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if single or plain else None


def _same(value: float, text: str, printed: float) -> bool:
    """Whether this number was printed, with fewer digits, or in percent."""
    if not math.isfinite(value) or not math.isfinite(printed):
        return math.isnan(value) == math.isnan(printed) and math.isinf(value) == math.isinf(printed)
    digits = len(text.partition(".")[2]) if "e" not in text.lower() else None
    if digits is None:
        return math.isclose(value, printed, rel_tol=1e-2)
    # "1" is a count before it is 0.85 without digits; "85" may be that in percent.
    scales = (1.0, 100.0) if digits else (100.0,) if printed >= 10 else ()
    return any(abs(round(times * value, digits) - printed) < 10.0 ** -(digits + 1) for times in scales)
