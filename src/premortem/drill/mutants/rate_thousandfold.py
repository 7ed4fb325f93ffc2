"""The learning rate is a thousand times too high."""

from __future__ import annotations

import functools

from premortem.drill.mutants.base import Mutant
from premortem.drill.mutants.rates import scale_rates


class RateThousandfold(Mutant):
    """The learning rate is a thousand times too high."""

    name = "rate-thousandfold"
    families = frozenset({"lr", "exploding", "numerics-nan", "numerics-overflow", "init-saturation"})
    needs = "builds no optimizer with a learning rate"

    def over(self) -> None:
        self.stage.on_build(functools.partial(scale_rates, self, 1000.0))
