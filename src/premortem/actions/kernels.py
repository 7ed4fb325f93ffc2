"""Fused optimizers: a step is judged, and refused, where its kernel is called.

Such a kernel leaves the step out when its `found_inf` is 1. It is called with the very list of the gradients, so that
nothing has to be gathered for the judgement. `Optimizer.found_inf` would do the same, at the price of one more list
for each counter of steps: on a GPU that is bound by launches such things are what watching costs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from premortem.probes.session import Session

Judge = Callable[[list[torch.Tensor]], torch.Tensor]

# By name, where among the lists after the gradients the counters are. torch has added one to them before.
_KERNELS: dict[str, int | None] = {
    "_fused_adam_": 3,
    "_fused_adamw_": 3,
    "_fused_adagrad_": 1,
    "_fused_sgd_": None,
}


class Kernels:
    """Between `expect` and `release`, the first kernel that is called has its gradients judged; the others of the same
    step (other types of numbers, other groups) go by the same answer."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._judge: Judge | None = None
        self._flag: torch.Tensor | None = None

    def install(self) -> None:
        for name, counters in _KERNELS.items():
            if hasattr(torch, name):
                self.session.layer(torch, name, functools.partial(self._wrap, counters))

    def expect(self, judge: Judge) -> None:
        self._judge = judge

    def release(self) -> None:
        self._judge = self._flag = None

    def _wrap(self, counters: int | None, original: Any) -> Any:
        def kernel(parameters: Any, gradients: Any, *lists: Any, **options: Any) -> Any:
            if options.get("is_first_step"):
                # Where this very step is left out, torch keeps the new momenta as it has found them in memory.
                torch._foreach_zero_(lists[0])
            if self._judge is None:
                return original(parameters, gradients, *lists, **options)
            if self._flag is None:
                with self.session.looking_at("guard"):
                    self._flag = self._judge(gradients)
            flag = self._flag
            if flag is not None:
                if flag.device != parameters[0].device:
                    flag = flag.to(parameters[0].device, non_blocking=True)
                options["found_inf"] = flag
            result = original(parameters, gradients, *lists, **options)
            if flag is not None and counters is not None:
                torch._foreach_add_(lists[counters], flag, alpha=-1)
            return result

        return kernel
