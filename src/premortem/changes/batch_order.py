"""The order of samples in a batch: another one, and the outputs put back in theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from premortem.changes.base import Change, Learning, RunDescription
from premortem.changes.batches import leaves, rows, take
from premortem.changes.late import nn, torch


class BatchPermuted(Change):
    """The samples of a batch stand in another order: to a model that treats each by itself nothing changes."""

    name = "batch-permuted"
    learning = Learning(
        title="batch permuted", question="neighbours", same_start=True, where_stuck=True, order=9
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        if not run.targets:
            return "the script compares nothing with labels through the losses of torch.nn.functional"
        return "the model draws random numbers, for each place in a batch others" if run.draws else ""

    def put_on(self) -> None:
        self._fits: dict[int, bool] = {}  # whether a model has one output for each sample
        self.reach.on_root_call(self._called)

    def _called(self, root: nn.Module, run: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        size = rows((args, kwargs))
        if size < 2 or not self.reach.in_training(root) or not self._fits.get(id(root), True):
            return run(*args, **kwargs)
        if id(root) not in self._fits:
            made = run(*args, **kwargs)
            outputs = [each for each in leaves(made) if each.dim()]
            self._fits[id(root)] = bool(outputs) and all(len(each) == size for each in outputs)
            return made
        self.touched += 1
        order = torch.randperm(size, generator=torch.Generator().manual_seed(self.touched)).tolist()
        back = sorted(range(size), key=order.__getitem__)
        return take(run(*take(args, size, order), **take(kwargs, size, order)), size, back)
