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


ALL: dict[str, Config] = {}


def config(batch: int, *, held_out: bool = False, limit: float | None = None):
    def register(build: Callable[[int], Step]) -> Callable[[int], Step]:
        ALL[build.__name__] = Config(build, batch, held_out, limit)
        return build

    return register


from fit_models import convolutional, generative, graphs, language, sequence, transformers_hub, vision  # noqa: F401
