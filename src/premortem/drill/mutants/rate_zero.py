"""The learning rate is 0."""

from __future__ import annotations

import functools

from premortem.drill.mutants.base import Mutant
from premortem.drill.mutants.rates import scale_rates


class RateZero(Mutant):
    """The learning rate is 0."""

    name = "rate-zero"
    families = frozenset({"lr", "optimizer-ownership"})
    needs = "builds no optimizer with a learning rate"

    def over(self) -> None:
        self.stage.on_build(functools.partial(scale_rates, self, 0.0))
