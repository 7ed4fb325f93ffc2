"""With a lower learning rate."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import Case, Intervention


class LowerRate(Intervention):
    """Only says something when loss and gradients are finite and the update is not."""

    title: ClassVar[str] = "a tenth of the learning rate"
    size: ClassVar[int] = 8
    gone: ClassVar[str] = "The learning rate is too high: at a tenth of it the same update is finite."
    stays: ClassVar[str] = "Not the learning rate."

    def applies(self, case: Case) -> bool:
        return case.of_the_update

    def changes(self, case: Case) -> dict[str, Any]:
        return {"rate": 0.1}
