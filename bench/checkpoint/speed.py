"""What safety costs: the stall of a save and the time of a load, beside torch's own, in turns of one run."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

import premortem
from checkpoint.watched import load_under_run


def network(mebibytes: int, device: str) -> nn.Module:
    side = 1024
    layers = max(1, mebibytes * (1 << 20) // (side * side * 4))
    return nn.Sequential(*(nn.Linear(side, side, bias=False) for _ in range(layers))).to(device)


def timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def pinned_copy(model: nn.Module) -> Any:
    """The least that any asynchronous save must wait for on a GPU."""
    hosts = [torch.empty_like(t, device="cpu", pin_memory=True) for t in model.state_dict().values()]

    def copy() -> None:
        for host, tensor in zip(hosts, model.state_dict().values(), strict=True):
            host.copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()

    copy()
    return copy


def stall(mebibytes: int, rounds: int, device: str, scratch: Path) -> dict[str, Any]:
    model = network(mebibytes, device)
    keeper = premortem.Vault(scratch / "stall", keep=1)
    keeper.save(0, model=model).wait()
    least = pinned_copy(model) if device == "cuda" else None
    theirs, ours = [], []
    for number in range(1, rounds + 1):
        state = model.state_dict()
        theirs.append(
            timed(least) if least else timed(lambda state=state: torch.save(state, scratch / "t.pt"))
        )
        if device == "cuda":
            torch.cuda.synchronize()
        saving = keeper.save(number, model=model)
        ours.append(saving.stalled)
        saving.wait()
    keeper.close()
    return {
        "MiB": mebibytes,
        "beside": "pinned device-to-host copy" if least else "torch.save",
        "theirs_s": statistics.median(theirs),
        "stall_s": statistics.median(ours),
        "ratio": statistics.median(o / t for o, t in zip(ours, theirs, strict=True)),
    }


def watched_load(mebibytes: int, rounds: int, scratch: Path) -> dict[str, Any]:
    theirs, ours = load_under_run(mebibytes, rounds, scratch)
    return {
        "MiB": mebibytes,
        "torch.load_s": statistics.median(theirs),
        "under run_s": statistics.median(ours),
        "ratio": statistics.median(o / t for o, t in zip(ours, theirs, strict=True)),
    }


def load(mebibytes: int, rounds: int, scratch: Path) -> dict[str, Any]:
    model = network(mebibytes, "cpu")
    keeper = premortem.Vault(scratch / "load", keep=1)
    keeper.save(1, model=model).wait()
    file = scratch / "load.pt"
    torch.save(model.state_dict(), file)
    theirs, ours = [], []
    for number in range(rounds + 1):
        plain = timed(lambda: model.load_state_dict(torch.load(file, weights_only=True)))
        verified = timed(lambda: keeper.resume(model=model, quiet=True, rng=False))
        if number:  # the first turn fills the page cache
            theirs.append(plain)
            ours.append(verified)
    keeper.close()
    return {
        "MiB": mebibytes,
        "torch.load_s": statistics.median(theirs),
        "verified_s": statistics.median(ours),
        "ratio": statistics.median(o / t for o, t in zip(ours, theirs, strict=True)),
    }
