"""`scheduler.step()` is forgotten: the learning rate stays."""

from __future__ import annotations

from typing import Any

from premortem.drill.mutants.base import Mutant


class SchedulerNever(Mutant):
    """`scheduler.step()` is forgotten: the learning rate stays."""

    name = "scheduler-never"
    families = frozenset({"scheduler", "lr"})
    needs = "steps no scheduler in this many steps"

    def over(self) -> None:
        self.stage.on_scheduler_step(self._forgotten)

    def _forgotten(self, original: Any, *args: Any, **kwargs: Any) -> None:
        self.touched += 1
