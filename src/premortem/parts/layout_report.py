"""What came of trying channels last."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutReport:
    """`kept`: whether the model is in channels last now. `print` shows it in words."""

    convolutions: int
    followed: int = 0  # of them, whose outputs were in the format
    kept: bool = False
    before: float = math.nan  # seconds of a step, the median
    after: float = math.nan
    difference: float = math.nan  # of the outputs, as a share of the largest
    reason: str = ""

    @property
    def ratio(self) -> float:
        """Time of a step in channels last over that before; NaN when it was not measured."""
        return self.after / self.before

    def because(self, reason: str, *, kept: bool = False) -> LayoutReport:
        return replace(self, reason=reason, kept=kept)

    def seen(self, *, followed: int, difference: float) -> LayoutReport:
        return replace(self, followed=followed, difference=difference)

    def timed(self, before: float, after: float, *, kept: bool) -> LayoutReport:
        return replace(self, before=before, after=after, kept=kept)

    def __str__(self) -> str:
        verdict = "channels last is kept" if self.kept else "the model stays as it was"
        if self.reason:
            return f"{verdict}: {self.reason}"
        return (
            f"{verdict}: a step takes {1000 * self.after:.3g} ms in channels last and {1000 * self.before:.3g} ms before "
            f"({self.ratio:.2f}); the outputs of {self.followed} of {self.convolutions} convolutions followed, and differ by "
            f"{self.difference:.1g} of the largest"
        )
