"""Metrics that add up what they are given (torchmetrics): how many batches are in them when a pass over a loader begins."""

from __future__ import annotations

import sys
from typing import Any

from torch import nn
from torch.utils.data import DataLoader

from premortem.events import MetricCounted
from premortem.probes.loaders import Loaders
from premortem.probes.model_registry import ModelRegistry
from premortem.probes.session import Session

_PASSES = 16  # of one loader
_METRICS = 32
# They collect what they are given for as long as they are asked to (samples seen so far, the best so far), or forget by themselves.
_BY_DESIGN = frozenset({"SumMetric", "MaxMetric", "MinMetric", "CatMetric", "Running"})


class RunningMetrics:
    def __init__(self, session: Session, loaders: Loaders, registry: ModelRegistry) -> None:
        self.session = session
        self.loaders = loaders
        self.registry = registry

    def install(self) -> None:
        self.loaders.on_start.append(self._started)

    def _started(self, key: int, loader: DataLoader[Any]) -> None:
        kind = getattr(sys.modules.get("torchmetrics"), "Metric", None)  # None while it is being imported
        if kind is None or self.loaders.started.get(key, 0) > _PASSES:
            return
        living = [reference() for reference, _ in list(self.registry.births.values())]
        metrics = [each for each in living if isinstance(each, kind) and not by_design(each)]
        for metric in metrics[:_METRICS]:
            self._count(metric, key)

    def _count(self, metric: nn.Module, loader: int) -> None:
        updates = getattr(metric, "_update_count", None)
        if isinstance(updates, int) and updates:
            self.session.emit(
                MetricCounted(
                    step=self.session.step,
                    metric=self.session.modules.of(metric),
                    kind=type(metric).__name__,
                    loader=loader,
                    updates=updates,
                    computed=getattr(metric, "_computed", None) is not None,
                )
            )


def by_design(metric: nn.Module) -> bool:
    """Whether it is a counter over the whole run, or a window."""
    return any(each.__name__ in _BY_DESIGN for each in type(metric).__mro__)
