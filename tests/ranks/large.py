"""What large training uses, on the CPU. The words say how the model is shared out, and what goes wrong.

fsdp1 [orig]    FullyShardedDataParallel; with `orig` the optimizer holds the module's own parameters
tp              tensor parallel on two ranks, and with FSDP2 over it on four; LayerNorms are copies, and ordinary parameters
pp              a pipeline of two stages
ddp             with `no_sync`
zero            torch's ZeroRedundancyOptimizer under DistributedDataParallel
vault           resumes from premortem's vault if there is something, and saves after step 4; `killed` after step 6;
                with `plainly` what each rank has of its own is given as if it were the same on all
"""

import contextlib
import os
import signal
import sys

import torch
import torch.distributed as dist
from network import Block, digest, state
from torch import nn
from torch.distributed.device_mesh import init_device_mesh

words = set(sys.argv[1:])
steps = 40 if "long" in words else 10
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()


def broken(x):
    return torch.log(x - 9)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.blocks = nn.ModuleList([Block(32) for _ in range(2)])
        self.head = nn.Linear(16, 1)
        self.calls = 0

    def forward(self, x):
        self.calls += self.training
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        if "born" in words and self.calls == 6:
            if "everywhere" in words or rank == 1:
                x = broken(x)
        return self.head(x)


torch.manual_seed(0)
model = Net()
made = torch.optim.SGD if "sgd" in words else torch.optim.AdamW
schedule = None
wait = contextlib.nullcontext
if "early" in words:
    optimizer = made(model.parameters(), lr=1e-2)
if "fsdp1" in words:
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    policy = ModuleWrapPolicy({Block}) if "nested" in words else None
    model = FullyShardedDataParallel(
        model, auto_wrap_policy=policy, use_orig_params="orig" in words, device_id=torch.device("cpu")
    )
    wait = model.no_sync
elif "tp" in words:
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    if world == 4:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
        tensor_mesh = mesh["tensor"]
    else:
        mesh = tensor_mesh = init_device_mesh("cpu", (world,), mesh_dim_names=("tensor",))
    for block in model.blocks:
        parallelize_module(block, tensor_mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    if world == 4:
        from torch.distributed.fsdp import fully_shard

        for block in model.blocks:
            fully_shard(block, mesh=mesh["data"])
        fully_shard(model, mesh=mesh["data"])
elif "ddp" in words or "zero" in words:
    model = nn.parallel.DistributedDataParallel(model)
    wait = model.no_sync
if "zero" in words:
    from torch.distributed.optim import ZeroRedundancyOptimizer

    optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=made, lr=1e-2)
elif "early" not in words and "pp" not in words:
    optimizer = made(model.parameters(), lr=1e-2)
if "pp" in words:
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    class First(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.stem, self.block = net.stem, net.blocks[0]

        def forward(self, x):
            return self.block(self.stem(x))

    class Last(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.block, self.head = net.blocks[1], net.head
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            x = self.block(x)
            if "born" in words and self.calls == 12:
                x = broken(x)
            return self.head(x)

    model = (First, Last)[rank](model)
    stage = PipelineStage(model, rank, world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
    optimizer = made(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
torch.manual_seed(
    0 if ("tp" in words and world == 2) or "pp" in words else rank // 2 if "tp" in words else rank
)
history, losses = [], []
start = 0
if "vault" in words:
    import premortem

    own = "pp" in words and "plainly" not in words
    vault = premortem.Vault("vault", each_rank=own)
    mine = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    mine = {"own": mine} if own else mine  # each rank has layers of its own
    report = vault.resume(**mine)
    start = report.start
for step in range(start, steps):
    if "vault" in words:
        torch.manual_seed(1000 * step + (rank if words & {"fsdp1", "ddp", "zero"} else 0))
    parts = 2 if "accumulate" in words else 1
    optimizer.zero_grad()
    for part in range(parts):
        x = torch.randn(16, 8)
        y = x[:, :1] * 2 + x[:, 1:2]
        if schedule is not None:
            if rank == 0:
                schedule.step(x)
            else:
                out = []
                schedule.step(target=y, losses=out)
                losses += [each.item() for each in out]
            continue
        with wait() if part < parts - 1 else contextlib.nullcontext():
            loss = nn.functional.mse_loss(model(x), y) / parts
            loss.backward()
        losses.append(loss.item())
    if "clip" in words:
        (
            model.clip_grad_norm_(1.0)
            if "fsdp1" in words
            else nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        )
    if "nan" in words and step == 5 and rank == 1:
        for p in model.parameters():
            if p.grad is not None and p.grad.numel():
                piece = p.grad.to_local() if hasattr(p.grad, "to_local") else p.grad
                piece.view(-1)[0] = float("nan")
                break
    if "drift" in words and rank == 1 and step >= (9 if "later" in words else 0):
        model.blocks[1].norm.weight.grad.copy_(torch.linspace(-1, 1, 16))
    optimizer.step()
    scheduler.step()
    history.append(state(model, optimizer))
    if "vault" in words and step == 4 and not report.loaded:
        if "zero" in words:
            optimizer.consolidate_state_dict(to=0)
        vault.save(step, **mine).wait()
        dist.barrier()  # all ranks have it, before one of them is killed
    if "killed" in words and step == 6 and not report.loaded:
        os.kill(os.getpid(), signal.SIGKILL)
shown = f"{digest([torch.tensor(losses)])} {losses[-1] if losses else 0:.4f}"
rate = f"{scheduler.get_last_lr()[0]:.8f}"
# In one piece, so that ranks do not write into each other's lines.
os.write(1, f"rank {rank} history {' '.join(history)}\nrank {rank} losses {shown} {rate}\n".encode())
dist.barrier()
dist.destroy_process_group()
if "zero" in words and "vault" in words:
    # gloo's threads outlive the group. One that lets go of a finished message wants the lock of an interpreter that is ending, and
    # Python before 3.14 ends it in the middle of a destructor: abort, in some of a hundred runs, without premortem too.
    vault.close()
    os._exit(0)
