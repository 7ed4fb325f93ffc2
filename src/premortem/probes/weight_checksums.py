"""Whether weights are the same as before, or as another model's, from samples of their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from premortem.events import WeightsSeen
from premortem.probes.session import Session, sampled

if TYPE_CHECKING:
    from premortem.probes.model_registry import Model

_NOW_AND_THEN = 32  # steps: how often a model that is called in each of them is looked at


def weights_seen(session: Session, model: Model, module: nn.Module) -> None:
    """When a model is called without gradients: is it the same as last time?

    A teacher is called so in every step; then it is looked at only now and then. Off the CPU this
    waits for the device once, so only the first evaluations are looked at there.
    """
    often = session.step - model.last_weights_step < 2 and model.weights_taken >= 3
    if often and session.step % _NOW_AND_THEN:
        model.last_weights_step = session.step
        return
    first_of_run = session.step != model.last_weights_step
    model.last_weights_step = session.step
    parameters = list(module.parameters())
    if not first_of_run or not parameters:
        return
    if parameters[0].device.type != "cpu" and model.weights_taken >= 6:
        return
    model.weights_taken += 1
    session.emit(WeightsSeen(step=session.step, model=model.key, checksum=checksum(parameters)))


def same_weights(one: nn.Module, other: nn.Module | None) -> bool:
    return other is not None and checksum(list(one.parameters())) == checksum(list(other.parameters()))


def checksum(parameters: Sequence[torch.Tensor], most: int = 48) -> int:
    """A hash over samples of the weights: different when training moved them."""
    stride = max(1, len(parameters) // most)
    chosen = [p.detach() for p in parameters[::stride] if p.layout == torch.strided and p.numel()]
    if chosen and chosen[0].device.type != "cpu":
        few = [p.reshape(-1)[:: max(1, p.numel() // 4)][:4].float() for p in chosen]
        return hash(tuple(torch.cat(few).tolist()))
    return hash(tuple(tuple(sampled(p, 4)) for p in chosen))
