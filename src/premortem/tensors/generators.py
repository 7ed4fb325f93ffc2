"""The random generators of Python, numpy and torch, put back as they were."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch


class Generators(NamedTuple):
    """Their states. numpy only where it is loaded, GPUs only where they are in use."""

    host: torch.Tensor
    devices: list[torch.Tensor] | None
    python: Any
    numpy: Any

    def put_back(self) -> None:
        torch.set_rng_state(self.host)
        if self.devices is not None:
            torch.cuda.set_rng_state_all(self.devices)
        random.setstate(self.python)
        if self.numpy is not None:
            sys.modules["numpy"].random.set_state(self.numpy)


def now() -> Generators:
    numpy = sys.modules.get("numpy")
    return Generators(
        torch.get_rng_state(),
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None,
        random.getstate(),
        numpy.random.get_state() if numpy is not None else None,
    )


@contextmanager
def kept() -> Iterator[None]:
    """What is drawn inside is drawn again afterwards."""
    before = now()
    try:
        yield
    finally:
        before.put_back()
