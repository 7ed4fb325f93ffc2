from __future__ import annotations

from functools import partial
from typing import Any

from premortem.changes.base import Change, OneStep, RunDescription
from premortem.changes.edits import OPTIMIZERS, argument_edits

USUAL = 1e-8  # torch's own default


class Epsilon(Change):
    """An epsilon in the optimizer's division.

    Adam and its kin divide by the root of an average of squares, which is 0 where every gradient was 0.
    """

    name = "epsilon"
    edit = partial(
        argument_edits, names=dict.fromkeys(OPTIMIZERS, "eps"), position=None, new=lambda _old: f"{USUAL:g}"
    )
    one_step = OneStep(
        title=f"the optimizer's eps at {USUAL:g}",
        size=6,
        gone="The optimizer divides by 0: with an epsilon the same update is finite.",
        stays="Not the optimizer's epsilon.",
    )

    @classmethod
    def absent(cls, run: RunDescription) -> str:
        small = any(float(group["eps"]) < USUAL for group in run.groups if "eps" in group)
        return "" if run.failed_in_update and small else "no optimizer divides by less than that"

    def put_on(self) -> None:
        self.reach.in_update("eps", self._usual)

    def _usual(self, group: dict[str, Any], own: Any) -> float:
        self.touched += 1
        return USUAL
