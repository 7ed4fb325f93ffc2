"""In float64."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import KEPT, Case, Intervention


class Float64(Intervention):
    """What fails in double precision too is wrong as mathematics: no type will repair it."""

    title: ClassVar[str] = "float64"
    size: ClassVar[int] = 9
    gone: ClassVar[str] = "Rounding or range of the type is the cause: in float64 the same step is finite."
    stays: ClassVar[str] = "Not a matter of precision: it fails in float64 too."

    def impossible(self, case: Case) -> str:
        return KEPT if case.together else ""

    def changes(self, case: Case) -> dict[str, Any]:
        return {"precision": "float64"}
