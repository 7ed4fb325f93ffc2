"""With deterministic kernels."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import Case, Intervention


class Deterministic(Intervention):
    """On a GPU sums may be taken in another order each time, and hardware may err."""

    title: ClassVar[str] = "deterministic kernels"
    size: ClassVar[int] = 5
    gone: ClassVar[str] = "The order of summation decides: the step is at the edge of what its type can hold."
    stays: ClassVar[str] = "Not a matter of chance in the kernels."

    def applies(self, case: Case) -> bool:
        return str(case.manifest.get("device", "")).startswith("cuda")

    def changes(self, case: Case) -> dict[str, Any]:
        return {"deterministic": True}
