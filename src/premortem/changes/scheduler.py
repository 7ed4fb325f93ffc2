"""`scheduler.step()`: never, for each batch."""

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Harm

_FAMILIES = frozenset({"scheduler", "lr"})


class SchedulerNever(Change):
    """`scheduler.step()` is forgotten: the learning rate stays."""

    name = "scheduler-never"
    harm = Harm(families=_FAMILIES, needs="steps no scheduler in this many steps")

    def put_on(self) -> None:
        self.reach.on_scheduler_step(self._forgotten)

    def _forgotten(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self.touched += 1


class SchedulerPerBatch(Change):
    """`scheduler.step()` stands in the loop over batches, not over epochs."""

    name = "scheduler-per-batch"
    harm = Harm(families=_FAMILIES, needs="builds no scheduler that is stepped without a metric")

    def put_on(self) -> None:
        from torch.optim import lr_scheduler

        self._schedulers: list[Any] = []
        self.reach.instead(lr_scheduler.LRScheduler, "__init__", self._built)
        self.reach.on_scheduler_step(lambda original, *args, **kwargs: None)
        self.reach.on_step(self._stepped)

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
