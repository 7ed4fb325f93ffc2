"""On a GPU: what training waits for when it saves, beside the copy to pinned memory, which is the least there is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import premortem


def gpu(rounds: int, scratch: Path) -> dict[str, Any]:
    model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(16)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    model(torch.randn(64, 2048, device="cuda")).square().mean().backward()
    optimizer.step()
    tensors = list(model.state_dict().values())
    tensors += [each for state in optimizer.state.values() for each in state.values()]
    pinned = [torch.empty(each.shape, dtype=each.dtype, pin_memory=True) for each in tensors]

    def copied() -> None:
        for to, source in zip(pinned, tensors, strict=True):
            to.copy_(source, non_blocking=True)

    copies, stalls = [], []
    with premortem.Vault(scratch / "gpu", keep=1) as vault:
        vault.save(0, model=model, optimizer=optimizer).wait()  # the memory is pinned once
        for number in range(1, rounds + 1):
            copies.append(_seconds(copied))
            stalls.append(
                _seconds(lambda number=number: vault.save(number, model=model, optimizer=optimizer))
            )
            vault.wait()
    return {
        "gpu": torch.cuda.get_device_name(),
        "MiB": sum(each.numel() * each.element_size() for each in tensors) >> 20,
        "copy_s": statistics.median(copies),
        "stall_s": statistics.median(stalls),
        "ratio": statistics.median(stalls) / statistics.median(copies),
        "at most": 1.3,
    }


def _seconds(call: Callable[[], Any]) -> float:
    """Until the device has done it all: the copies of a save are queued, and count."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - began
