"""FSDP2 with `torch.distributed.checkpoint`, or premortem's vault: saves, and what is read back on as many ranks, or others."""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

words = set(sys.argv[1:])


class App:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )


def made():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 33), nn.ReLU(), nn.Dropout(0.1), nn.Linear(33, 5))
    fully_shard(model, mesh=mesh)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def train(model, optimizer, steps):
    for _ in range(steps):
        x = torch.randn(16, 8)
        loss = (model(x) - x[:, :5]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def whole(model, optimizer):
    """Every number of model and optimizer, on every rank: the script may gather."""
    found = [p.full_tensor().detach().clone() for p in model.parameters()]
    for parameter in model.parameters():
        state = optimizer.state[parameter]
        found += [(v.full_tensor() if hasattr(v, "full_tensor") else v).clone() for v in state.values()]
    return found


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cpu", (world,))
model, optimizer = made()
torch.manual_seed(rank)
train(model, optimizer, 3)
dcp.save({"app": App(model, optimizer)}, checkpoint_id="ckpt")
kept = whole(model, optimizer)
train(model, optimizer, 3)
if "poison" in words and rank == 1:
    with torch.no_grad():
        next(model.parameters()).to_local()[0] = float("nan")
if "killed" in words and rank == 1:
    write = dcp.FileSystemWriter.write_data

    def torn(*args, **kwargs):
        write(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    dcp.FileSystemWriter.write_data = torn
if words & {"poison", "killed"}:
    dcp.save({"app": App(model, optimizer)}, checkpoint_id="ckpt")
if "damage" in words:
    dist.barrier()
    if rank == 0:
        with Path("ckpt/__1_0.distcp").open("r+b") as file:  # in the middle of a tensor
            data = bytearray(file.read())
            place = data.index(kept[0][17:].contiguous().numpy().tobytes()) + 5
            file.seek(place)
            file.write(bytes([data[place] ^ 0x40]))
    dist.barrier()
fresh, other = made()
dcp.load({"app": App(fresh, other)}, checkpoint_id="ckpt")
same = all(torch.equal(a, b) for a, b in zip(kept, whole(fresh, other), strict=True))
print(f"rank {rank} same {same}", flush=True)
train(fresh, other, 2)
dist.barrier()
dist.destroy_process_group()
