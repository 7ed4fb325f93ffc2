"""Another seed: the same script with every seed that it sets shifted, and one where it sets none."""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from typing import Any

import torch

from premortem.points import UNDER, Subscriptions

_FIRST = 20
_APART = 1009  # between two seeds: more than a script that counts its own up by one will ever reach


def shift(number: int) -> None:
    """Before the script's first line. Number 0 is the script's own."""
    by = _APART * number
    _seed(_FIRST + by)
    if not by:
        return
    points = Subscriptions()
    _shifted(points, torch, "manual_seed", by)
    _shifted(points, random, "seed", by)
    with suppress(ImportError):
        import numpy as np

        _shifted(points, np.random, "seed", by)
        _shifted(points, np.random, "default_rng", by)

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(int(seed) + by)

    points.replace(torch, "Generator", Generator)


def _shifted(points: Subscriptions, owner: Any, name: str, by: int) -> None:
    def make(call: Any) -> Any:
        def seeded(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], int):
                args = (args[0] + by, *args[1:])
            kwargs = {key: value + by if isinstance(value, int) else value for key, value in kwargs.items()}
            return call(*args, **kwargs)

        return seeded

    points.add(owner, name, make, order=UNDER)


def _seed(number: int) -> None:
    random.seed(number)
    torch.manual_seed(number)
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed(number)  # noqa: NPY002 - what a script that uses it draws from
