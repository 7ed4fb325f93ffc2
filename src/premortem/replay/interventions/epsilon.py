"""With an epsilon in the optimizer's division."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import Case, Intervention

USUAL = 1e-8  # torch's own default


class Epsilon(Intervention):
    """Adam and its kin divide by the root of an average of squares, which is 0 where every gradient was 0."""

    title: ClassVar[str] = f"the optimizer's eps at {USUAL:g}"
    size: ClassVar[int] = 6
    gone: ClassVar[str] = "The optimizer divides by 0: with an epsilon the same update is finite."
    stays: ClassVar[str] = "Not the optimizer's epsilon."

    def applies(self, case: Case) -> bool:
        optimizer = case.manifest["optimizers"][case.manifest["optimizer"]] or {"groups": []}
        rounding = [group["eps"] for group in optimizer["groups"] if "eps" in group]
        return case.of_the_update and any(float(eps) < USUAL for eps in rounding)

    def changes(self, case: Case) -> dict[str, Any]:
        return {"eps": USUAL}
