"""Blocks that are watched in a process that has long had its group: without sharded tensors, and then with them, twice."""

import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.tensor
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from premortem.actions import agreement
from premortem.run.watcher import Watcher

agreement._PATIENCE = timedelta(seconds=5)
dist.init_process_group("gloo")


def watched(model):
    """Whether looks were kept away from collectives."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    problems = []
    watcher = Watcher("protect", on_problem=problems.append)
    watcher.attach()
    kept_away = watcher._attachment.session.locally is not None
    watcher.introduce((model, optimizer))
    for _ in range(2):
        loss = model(torch.randn(4, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        time.sleep(0.2 * (dist.get_rank() == 0))  # the other finds what this one has left behind, if anything
        optimizer.step()
    watcher.close()
    assert not problems, problems
    return kept_away


assert not watched(DistributedDataParallel(nn.Linear(8, 1))), (
    "torch has imported sharding, and nobody uses it"
)
sharded = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
fully_shard(sharded, mesh=init_device_mesh("cpu", (2,)))
for _ in range(3):  # each of them makes connections of its own
    assert watched(sharded)
dist.barrier()
print("all as it should be", dist.get_rank(), file=sys.stderr)
dist.destroy_process_group()
