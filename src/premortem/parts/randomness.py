"""The random generators of Python, numpy and torch, put back as they were."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def kept() -> Iterator[None]:
    """What is drawn inside is drawn again afterwards. numpy only where it is loaded, GPUs only where they are in use."""
    python, cpu = random.getstate(), torch.get_rng_state()
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    numpy = sys.modules.get("numpy")
    legacy = numpy.random.get_state() if numpy is not None else None
    try:
        yield
    finally:
        random.setstate(python)
        torch.set_rng_state(cpu)
        if gpus:
            torch.cuda.set_rng_state_all(gpus)
        if numpy is not None:
            numpy.random.set_state(legacy)
