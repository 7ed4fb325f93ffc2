"""What a trial is judged by: names of what is broken, the update itself, and the certificate as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import torch

from premortem.events import NonFinite
from premortem.files.plain import plain
from premortem.replay.collect import held
from premortem.replay.step_reach import Updating
from premortem.tensors.sharding import local

if TYPE_CHECKING:
    from premortem.probes import Attachment

MOST_NAMES = 8


def names_in(attachment: Attachment) -> dict[int, str]:
    """Of the parameters, by their identity."""
    return {
        id(parameter): f"{model.name}.{name}"
        for model in attachment.models.known.values()
        if (module := model.module()) is not None
        for name, parameter in module.named_parameters()
    }


def broken_gradients(optimizer: Any, names: dict[int, str]) -> list[str]:
    bad = [
        names.get(id(p), f"parameter {i}")
        for i, p in enumerate(held(optimizer))
        if p.grad is not None and not finite(p.grad)
    ]
    return bad[:MOST_NAMES]


def updated(
    optimizer: Any,
    update: Callable[[], Any],
    changed: Sequence[Updating],
    names: dict[int, str],
    locally: Any,
) -> list[str]:
    """Make the update and say which parameters are not finite. The next trial restores what it changed.

    Under `locally` it is made on this rank's pieces one by one, which a microscope can look at."""
    with ExitStack() as held_open:
        for around in changed:
            held_open.enter_context(around(optimizer))
        held_open.enter_context(torch.no_grad())
        held_open.enter_context(locally)
        update()
    bad = [
        names.get(id(p), f"parameter {i}")
        for i, p in enumerate(held(optimizer))
        if not (finite(p) and sound(optimizer.state.get(p, {})))
    ]
    return bad[:MOST_NAMES]


def sound(state: dict[str, Any]) -> bool:
    """A moment that has overflowed makes updates of 0 for ever: no better than one that is NaN."""
    return all(finite(value) for value in state.values() if isinstance(value, torch.Tensor))


def certificate(found: NonFinite) -> dict[str, Any]:
    """The birth certificate as plain values."""
    at = found.at
    return {
        "stage": found.stage,
        "op": found.op,
        "detail": found.detail,
        "made": found.made,
        "overflow": found.overflow,
        "what": found.what,
        "file": at.file if at is not None else "",
        "line": at.line if at is not None else 0,
        "module": found.module,
        "parameter": found.parameter,
        "rows": list(found.rows),
        "samples": found.samples,
        "source": found.source._asdict() if found.source is not None else None,
        "dtype": found.dtype,
        "operands": [plain(operand._asdict()) for operand in found.operands],
    }


def finite(tensor: torch.Tensor) -> bool:
    piece = local(tensor)
    values = piece._values() if piece.layout != torch.strided else piece  # noqa: SLF001
    return bool(torch.isfinite(values).all())
