"""Without torch.compile."""

from __future__ import annotations

from typing import Any, ClassVar

from premortem.replay.interventions.base import Case, Intervention


class Eager(Intervention):
    """A compiled model may reorder and fuse operations, and a compiler may have a bug."""

    title: ClassVar[str] = "eager instead of compiled"
    size: ClassVar[int] = 4
    gone: ClassVar[str] = "The compiled code is the cause: the same step is finite when it runs eagerly."
    stays: ClassVar[str] = "Not the compiler: the eager step fails too."

    def applies(self, case: Case) -> bool:
        return bool(case.manifest.get("compiled"))

    def changes(self, case: Case) -> dict[str, Any]:
        return {"launch": {"eager": True}}
