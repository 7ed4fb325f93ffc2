from __future__ import annotations

from premortem.changes.base import Change, Learning, OneStep
from premortem.changes.late import torch


class Deterministic(Change):
    """Deterministic kernels. On a GPU sums may be taken in another order each time, and hardware may err."""

    name = "deterministic"
    one_step = OneStep(
        title="deterministic kernels",
        size=5,
        gone="The order of summation decides: the step is at the edge of what its type can hold.",
        stays="Not a matter of chance in the kernels.",
    )
    learning = Learning(title="deterministic kernels", question="precision", where_stuck=True, order=9)
    opening = ("on_gpu", "the step does not run on a GPU")

    def put_on(self) -> None:
        before = torch.get_deterministic_debug_mode()
        self.reach.undoing(lambda: torch.set_deterministic_debug_mode(before))
        torch.use_deterministic_algorithms(mode=True, warn_only=True)
        self.touched += 1
