"""FSDP2 on the CPU: parameters in pieces, one on each rank. The words say what the loop does."""

import sys

import torch
import torch.distributed as dist
from network import Block, state
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import checkpoint

words = set(sys.argv[1:])
steps = 40 if "long" in words else 10
if "impatient" in words:  # premortem gives up soon on a rank that does not come
    from datetime import timedelta

    from premortem.actions import agreement

    agreement._PATIENCE = timedelta(seconds=2)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(64, 16)
        self.blocks = nn.ModuleList([Block(33) for _ in range(3)])
        self.head = nn.Linear(16, 1)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        x = self.words(x).mean(1)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if "checkpointing" in words else block(x)
        if "born" in words and rank == 1 and self.seen == 5:
            x = torch.log(x - 9)
        return self.head(x)


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
if "hybrid" in words:
    mesh = init_device_mesh("cpu", (world // 2, 2), mesh_dim_names=("copies", "pieces"))
else:
    mesh = init_device_mesh("cpu", (world,))
torch.manual_seed(0)
model = Net()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
options = {"mesh": mesh, **({"mp_policy": policy} if "mixed" in words else {})}
if "early" in words:  # the fault: it holds the parameters that sharding replaces
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
if "nested" in words:
    for block in model.blocks:
        fully_shard(block, **options)
fully_shard(model, **options)
if "early" not in words:
    made = torch.optim.SGD if "sgd" in words else torch.optim.AdamW
    optimizer = made(model.parameters(), lr=1e-2, **({"eps": 0.0} if "eps" in words else {}))
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
torch.manual_seed(0 if "same-data" in words else rank)
history = []
if "uneven" in words:  # the loop ends everywhere after as many batches
    rows = torch.randint(0, 32, (16 * (steps + 4 * rank), 8))
    loader = torch.utils.data.DataLoader(rows, batch_size=16)
    batches = iter(loader)
for step in range(steps):
    parts = 2 if "accumulate" in words else 1
    optimizer.zero_grad()
    for part in range(parts):
        model.set_requires_gradient_sync(part == parts - 1)
        # Half of the words never come: the piece of the table that holds them has no gradient at all.
        x = next(batches) if "uneven" in words else torch.randint(0, 32, (16, 8))
        loss = (model(x) - x[:, :1] / 32).square().mean() / parts
        loss.backward()
    if "nan" in words and step in (4, 5):
        piece = next(iter(model.blocks[1].parameters())).grad.to_local()
        if rank == 1:
            piece[0] = float("nan")
    if "clip" in words:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if not ("skip" in words and rank == 1 and step == 5):
        optimizer.step()
    scheduler.step()
    if "evaluates" in words and step % 4 == 0:
        model.eval()
        with torch.no_grad():
            model(torch.randint(0, 32, (16, 8)))
        model.train()
    history.append(state(model, optimizer))
print(f"rank {rank} history {' '.join(history)}", flush=True)
print(f"rank {rank} rate {scheduler.get_last_lr()[0]:.6g} seen {model.seen.item()}", flush=True)
calls = [mesh.get_group(each)._get_sequence_number_for_group() for each in range(mesh.ndim)]
print(f"rank {rank} collectives {calls} of the mesh", flush=True)
dist.barrier()
dist.destroy_process_group()
