"""With gradient clipping."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import Case, Intervention


class Clipping(Intervention):
    """Only says something when loss and gradients are finite and the update is not."""

    title: ClassVar[str] = "gradients clipped to norm 1"
    size: ClassVar[int] = 7
    gone: ClassVar[str] = "The gradient is too large for the update: clipped, the same step is finite."
    stays: ClassVar[str] = "Not the size of the gradient."

    def applies(self, case: Case) -> bool:
        return case.of_the_update

    def changes(self, case: Case) -> dict[str, Any]:
        return {"clip": 1.0}
