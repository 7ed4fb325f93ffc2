"""Models and training steps as people write them, for bench/fit.py. None of them knows of premortem.

A configuration is a function of the batch size that builds everything on `cuda` and returns one training step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Step = Callable[[], None]


class Config(NamedTuple):
    build: Callable[[int], Step]
    batch: int
    held_out: bool  # predicted with the final code, before it was measured
    limit: float | None  # GiB: how large may the batch be on a card that has this much?
    half: str = "tuned"  # or held-out, fresh, last: each written when those before had been measured


ALL: dict[str, Config] = {}


def config(
    batch: int, *, held_out: bool = False, fresh: bool = False, last: bool = False, limit: float | None = None
):
    half = "last" if last else "fresh" if fresh else "held-out" if held_out else "tuned"

    def register(build: Callable[[int], Step]) -> Callable[[int], Step]:
        ALL[build.__name__] = Config(build, batch, held_out or fresh or last, limit, half)
        return build

    return register


from fit_models import (  # noqa: F401
    convolutional,
    fresh_language,
    fresh_vision,
    generative,
    graphs,
    language,
    latest,
    sequence,
    transformers_hub,
    vision,
)
