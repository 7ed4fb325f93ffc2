"""What the mutants of the learning rate share."""

from __future__ import annotations

from typing import Any

from premortem.drill.mutants.base import Mutant


def scale_rates(mutant: Mutant, factor: float, given: dict[str, Any]) -> None:
    """In the arguments of an optimizer: its own rate, and those of its groups."""
    groups = [dict(each) if isinstance(each, dict) else each for each in given["params"]]
    for owner in (given, *(group for group in groups if isinstance(group, dict))):
        if isinstance(owner.get("lr"), float):
            owner["lr"] *= factor
            mutant.touched += 1
    given["params"] = groups
