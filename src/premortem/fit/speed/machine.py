"""The device and the generators of random numbers."""

import random
import sys
from typing import Any

import torch


def peak() -> int:
    return int(torch.cuda.max_memory_allocated()) if torch.cuda.is_initialized() else 0


def synchronize() -> None:
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()


def chance_now() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    return (
        torch.get_rng_state(),
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None,
        random.getstate(),
        numpy.random.get_state() if numpy is not None else None,
    )


def restore_chance(states: tuple[Any, ...]) -> None:
    host, device, python, numpy = states
    torch.set_rng_state(host)
    if device is not None:
        torch.cuda.set_rng_state_all(device)
    random.setstate(python)
    if numpy is not None:
        sys.modules["numpy"].random.set_state(numpy)
