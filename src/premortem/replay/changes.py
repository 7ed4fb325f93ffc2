"""What a trial changes in the process while it runs; left behind as it was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from premortem.probes.session import Covers
from premortem.replay.trial import Trial

_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@contextmanager
def changed(trial: Trial, modules: Sequence[nn.Module]) -> Iterator[None]:
    covers = Covers()
    default = torch.get_default_dtype()
    strict = torch.are_deterministic_algorithms_enabled()
    try:
        if trial.precision:
            covers.replace(torch.amp.autocast_mode.autocast, "__enter__", _without_autocast)
            dtype = _DTYPES[trial.precision]
            torch.set_default_dtype(dtype)
            for module in modules:  # the next trial restores their own type
                module.to(dtype)
        if trial.deterministic:
            torch.use_deterministic_algorithms(mode=True, warn_only=True)
        yield
    finally:
        covers.put_back()
        torch.set_default_dtype(default)
        torch.use_deterministic_algorithms(mode=strict)


def _without_autocast(original: Any) -> Any:
    def __enter__(context: Any) -> Any:  # noqa: N807
        # A context that was made once and is entered in every step is meant too.
        wanted, context._enabled = context._enabled, False  # noqa: SLF001 - it has no public switch
        try:
            return original(context)
        finally:
            context._enabled = wanted  # noqa: SLF001

    return __enter__
