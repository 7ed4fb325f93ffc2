"""FSDP2 and premortem's vault: resumes if there is something, trains up to a step, saves where it is told to."""

import hashlib
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import premortem

until, saves = int(sys.argv[1]), {int(word) for word in sys.argv[2].split(",") if word}
words = set(sys.argv[3:])
ranked = "WORLD_SIZE" in os.environ
if ranked:
    dist.init_process_group("gloo")
rank, world = (dist.get_rank(), dist.get_world_size()) if ranked else (0, 1)


def whole(value):
    return value.full_tensor() if hasattr(value, "full_tensor") else value


def digest():
    """Of every weight and moment: the same whoever holds which pieces."""
    hashed = hashlib.sha256()
    for name, parameter in model.named_parameters():
        hashed.update(whole(parameter).detach().numpy().tobytes())
        for key, value in sorted(optimizer.state[parameter].items()):
            hashed.update(f"{name} {key}".encode() + whole(value).numpy().tobytes())
    return hashed.hexdigest()[:16]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 33), nn.ReLU(), nn.Dropout(0.1), nn.BatchNorm1d(33), nn.Linear(33, 5))
if ranked and "whole" not in words:
    mesh = init_device_mesh("cpu", (world,))
    for layer in (model[0], model[4]):
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
torch.manual_seed(100 + rank)
vault = premortem.Vault("vault", keep=3, each_rank="own" in words)
parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
if "own" in words:  # a memory bank, another one on every rank
    bank = nn.Linear(2, 2)
    nn.init.constant_(bank.weight, float(rank))
    parts["own"] = {"bank": bank}
if "alone" in words:  # the fault: only the first rank asks
    from premortem.errors import VaultError
    from premortem.vault import agreement

    agreement._SAY, agreement._PATIENCE = 1.0, 3.0
    try:
        report = vault.resume(**parts) if rank == 0 else None
    except VaultError as error:
        print(f"rank {rank} refused alone {error}", flush=True)
    dist.barrier()
    sys.exit()
report = vault.resume(**parts)
if report.loaded:
    print(f"rank {rank} resumed {report.step} {digest()}", flush=True)
    if "own" in words:
        print(f"rank {rank} bank {report.step} {bank.weight[0, 0].item()}", flush=True)
for step in range(report.start, until):
    x = torch.randn(16, 8)
    loss = (model(x) - x[:, :5]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if "poison" in words and step == max(saves) and rank == 1:
        with torch.no_grad():
            model[0].weight.to_local()[0] = float("nan")
    if "own" in words:
        with torch.no_grad():
            bank.weight += 10
    if step in saves:
        saving = vault.save(step, **parts)
        print(f"rank {rank} saved {step} {saving.wait()}", flush=True)
    print(f"rank {rank} step {step} {digest()} {scheduler.get_last_lr()[0]:.8f}", flush=True)
vault.close()
if ranked:
    dist.barrier()
    dist.destroy_process_group()
