"""The training steps that the configurations share: plain, mixed precision, scaled, accumulated."""

from __future__ import annotations

import contextlib

import torch


def train(model, loss, optimizer, *, amp=None, scaler=False, clip=None, accumulate=1, set_to_none=True):
    """One step; `loss()` runs the model and returns the loss."""
    scale = torch.amp.GradScaler("cuda") if scaler else None

    def step():
        optimizer.zero_grad(set_to_none=set_to_none)
        for _ in range(accumulate):
            with torch.autocast("cuda", dtype=amp) if amp else contextlib.nullcontext():
                value = loss() / accumulate
            (scale.scale(value) if scale else value).backward()
        if clip:
            if scale:
                scale.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if scale:
            scale.step(optimizer)
            scale.update()
        else:
            optimizer.step()

    return step


def images(batch, size, channels=3):
    return torch.randn(batch, channels, size, size, device="cuda")


def labels(batch, classes):
    return torch.randint(0, classes, (batch,), device="cuda")
