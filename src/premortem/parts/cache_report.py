"""What a cache holds, in numbers and in words."""

import math
from dataclasses import dataclass

from premortem.amounts import size


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheReport:
    """Of all processes that use the cache, at one moment. `print` shows it in words."""

    policy: str
    samples: int
    held: int
    used: int  # bytes
    budget: int  # bytes
    hits: int
    misses: int
    evicted: int
    no_room: int  # samples that came when the budget was used up
    too_large: int  # samples that are larger than the whole budget
    cannot_be_held: int  # samples that cannot be pickled, or live on a GPU
    lowered_from: int = 0  # the budget that was asked for, where less was free
    random: bool = False  # a sample was another one when it was read again

    @property
    def hit_rate(self) -> float:
        """Of what was asked for since the cache was made; NaN when nothing was."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else math.nan

    @property
    def needed(self) -> int:
        """Bytes that all samples would need, if the others are like those that are held."""
        return self.samples * self.used // self.held if self.held else 0

    def __str__(self) -> str:
        lines = [
            f"RamCache: {self.held:,} of {self.samples:,} samples in {size(self.used)} of {size(self.budget)}, {self.policy}"
        ]
        if self.hits + self.misses:
            lines.append(
                f"hit rate {100 * self.hit_rate:.1f} % ({self.hits:,} hits, {self.misses:,} misses)"
                + (f", {self.evicted:,} evicted" if self.evicted else "")
            )
        if self.no_room:
            lines.append(
                f"{self.no_room:,} did not fit: the budget is used up; all would need about {size(self.needed)}"
            )
        if self.too_large:
            lines.append(f"{self.too_large:,} did not fit: each is larger than the whole budget")
        if self.cannot_be_held:
            lines.append(f"{self.cannot_be_held:,} cannot be held: see the warning")
        if self.lowered_from:
            lines.append(
                f"the budget was lowered from {size(self.lowered_from)}: more than {size(self.budget)} was not free"
            )
        if self.random:
            lines.append(
                "what was read was another sample each time: a cache under a random transform freezes it"
            )
        return "\n".join(lines)
