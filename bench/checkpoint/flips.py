"""One flipped bit somewhere in a stored file: who notices when it is loaded."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch
from torch import nn

import premortem
from premortem.vault.manifest import NAME
from premortem.vault.opening import newest_whole
from premortem.vault.verify import verify


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 32))


def flip(path: Path, dice: random.Random) -> bytes:
    """Returns what was there."""
    before = path.read_bytes()
    place = dice.randrange(len(before) * 8)
    after = bytearray(before)
    after[place // 8] ^= 1 << (place % 8)
    path.write_bytes(bytes(after))
    return before


def torch_notices(path: Path, whole: Any) -> bool:
    """It raised, or gave the very tensors that were saved: then the bit was in nothing that is read."""
    try:
        return same(torch.load(path, weights_only=True), whole)
    except Exception:  # noqa: BLE001 - whatever it raises, it noticed
        return True


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else bool(a == b)


def flips(times: int, scratch: Path, seed: int = 0) -> dict[str, Any]:
    from checkpoint.watched import flips_on_load

    dice = random.Random(seed)
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(8, 64)).sum().backward()
    optimizer.step()
    file = scratch / "model.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    with premortem.Vault(scratch / "vault") as keeper:
        folder = keeper.save(1, model=model, optimizer=optimizer).wait()
    assert folder is not None
    stored = sorted(path for path in folder.rglob("*") if path.is_file())
    caught = {"file": 0, "vault": 0}
    silent = 0
    whole = torch.load(file, weights_only=True)
    third = times // 3
    for _ in range(third):
        before = flip(file, dice)
        caught["file"] += not verify(file).ok
        silent += not torch_notices(file, whole)
        file.write_bytes(before)
    sizes = [path.stat().st_size for path in stored]
    for _ in range(third):
        [target] = dice.choices(stored, sizes)
        before = flip(target, dice)
        saved, _ = newest_whole([folder])
        caught["vault"] += saved is None
        target.write_bytes(before)
    saved, _ = newest_whole([folder])
    assert saved is not None, "the file that was put back must be whole"
    assert verify(file).ok
    watched = flips_on_load(times - 2 * third, file, dice)
    return {
        "flips": times,
        "caught": caught["file"] + caught["vault"] + watched["caught"],
        "files": {"flips": third, "caught": caught["file"], "torch.load silent": silent},
        "vault": {"flips": third, "caught": caught["vault"], "manifest": NAME},
        "loads under run": watched,
    }
