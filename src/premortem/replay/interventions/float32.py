"""In float32, without autocast."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import KEPT, Case, Intervention


class Float32(Intervention):
    """The range of 16 bits is small: float16 ends at 65504, and both 16-bit types lose small differences."""

    title: ClassVar[str] = "float32, autocast off"
    size: ClassVar[int] = 3
    gone: ClassVar[str] = "16 bits are the cause: in float32 the same step is finite."
    stays: ClassVar[str] = "Not a matter of 16 bits: float32 fails too."

    def applies(self, case: Case) -> bool:
        """Only where something was computed in 16 bits."""
        return case.plain.low_precision

    def impossible(self, case: Case) -> str:
        return KEPT if case.together and case.plain.low_weights else ""

    def changes(self, case: Case) -> dict[str, Any]:
        changes: dict[str, Any] = {"precision": "float32"}
        return {**changes, "launch": {"wide": True}} if case.plain.low_policy else changes
