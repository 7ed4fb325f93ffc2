"""What a trial changes in the process while it runs; left behind as it was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from premortem.points import Subscriptions
from premortem.probes.session import Session
from premortem.replay.trial import Trial
from premortem.tensors.sharding import local

_DRAWING = ("rand", "randn", "rand_like", "randn_like")
LOW = frozenset({torch.float16, torch.bfloat16})
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@contextmanager
def changed(trial: Trial, modules: Sequence[nn.Module]) -> Iterator[None]:
    covers = Subscriptions()
    default = torch.get_default_dtype()
    strict = torch.are_deterministic_algorithms_enabled()
    try:
        if trial.precision:
            covers.add(torch.amp.autocast_mode.autocast, "__enter__", _without_autocast)
            dtype = _DTYPES[trial.precision]
            torch.set_default_dtype(dtype)
            for name in _DRAWING:
                covers.add(torch, name, _same_draw)
            for module in modules:
                widen(trial, module)
        if trial.deterministic:
            torch.use_deterministic_algorithms(mode=True, warn_only=True)
        yield
    finally:
        covers.end()
        torch.set_default_dtype(default)
        torch.use_deterministic_algorithms(mode=strict)


class Policies:
    """The precision that FSDP2 computes in, whatever its weights have. It is fixed when a model is sharded, so only a new
    process can change it."""

    def __init__(self, *, wide: bool) -> None:
        self.low = False  # the script has asked for 16 bits
        self._wide = wide

    def install(self, session: Session) -> None:
        from torch.distributed import fsdp

        if hasattr(fsdp, "MixedPrecisionPolicy"):
            session.patch(fsdp.MixedPrecisionPolicy, "__init__", self._wrap)

    def _wrap(self, original: Any) -> Any:
        def __init__(policy: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(policy, *args, **kwargs)
            if policy.param_dtype in LOW:
                self.low = True
                if self._wide:
                    object.__setattr__(policy, "param_dtype", None)

        return __init__


@contextmanager
def unseen(session: Session) -> Iterator[None]:
    """What we do ourselves is no part of the script, and nothing for the microscope. Of tensors in pieces it sees this
    rank's: the others are not asked."""
    before, session.looking = session.looking, True
    try:
        with session.locally or nullcontext():
            yield
    finally:
        session.looking = before


def widen(trial: Trial, module: nn.Module) -> None:
    """The next trial restores its own type."""
    wide = _DTYPES.get(trial.precision)
    held = [*module.parameters(), *module.buffers()]
    if wide is not None and any(t.is_floating_point() and t.dtype != wide for t in held):
        module.to(wide)


def _same_draw(original: Any) -> Any:
    """A generator gives other numbers when it is asked for wider ones: draw as before, then widen."""

    def draw(*args: Any, **kwargs: Any) -> Any:
        like = args[0] if args and isinstance(args[0], torch.Tensor) else None
        wanted = kwargs.get("dtype") or (like.dtype if like is not None else torch.get_default_dtype())
        if wanted != torch.float64:
            return original(*args, **kwargs)
        return original(*args, **{**kwargs, "dtype": torch.float32}).double()

    return draw


def _without_autocast(original: Any) -> Any:
    def __enter__(context: Any) -> Any:  # noqa: N807
        # A context that was made once and is entered in every step is meant too.
        wanted, context._enabled = context._enabled, False  # noqa: SLF001 - it has no public switch
        try:
            return original(context)
        finally:
            context._enabled = wanted  # noqa: SLF001

    return __enter__


def as_recorded(original: Any) -> Any:
    """Clipping as in the recorded run, where a norm that is not finite did not spread to all gradients."""

    def clip(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
        total_norm = local(total_norm)  # of gradients in pieces it is the same on every rank
        total_norm = torch.where(torch.isfinite(total_norm), total_norm, 0.0)
        return original(parameters, max_norm, total_norm, *args, **kwargs)

    return clip
