"""`scheduler.step()` stands in the loop over batches, not over epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import lr_scheduler

from premortem.drill.mutants.base import Mutant


class SchedulerPerBatch(Mutant):
    """`scheduler.step()` stands in the loop over batches, not over epochs."""

    name = "scheduler-per-batch"
    families = frozenset({"scheduler", "lr"})
    needs = "builds no scheduler that is stepped without a metric"

    def over(self) -> None:
        self._schedulers: list[Any] = []
        self.stage.instead(lr_scheduler.LRScheduler, "__init__", self._built)
        self.stage.on_scheduler_step(lambda original, *args, **kwargs: None)
        self.stage.on_step(self._stepped)

    def _built(self, original: Any, scheduler: Any, *args: Any, **kwargs: Any) -> None:
        original(scheduler, *args, **kwargs)
        self._schedulers.append(scheduler)

    def _stepped(self, step: Callable[[], Any], optimizer: Any) -> Any:
        result = step()
        for scheduler in self._schedulers:
            if scheduler.optimizer is optimizer:
                self.touched += 1
                scheduler.step()
        return result
