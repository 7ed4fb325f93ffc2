"""A training on several ranks, whose faults and habits are chosen by name: `script.py WORD...`."""

import contextlib
import os
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

WORDS = set(sys.argv[1:])
STEPS = 40
dist.init_process_group("gloo", timeout=timedelta(seconds=12 if "order" in WORDS else 600))
rank, world = dist.get_rank(), dist.get_world_size()


class Slow(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, slope):
        time.sleep(0.015)
        return slope


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(16, 1)
        self.spare = nn.Linear(16, 1)

    def forward(self, x):
        if "slow-backward" in WORDS and rank == 1:
            x = Slow.apply(x.requires_grad_())
        hidden = self.drop(torch.relu(self.norm(self.stem(x))))
        if "checkpointing" in WORDS:
            return torch.utils.checkpoint.checkpoint(self.head, hidden, use_reentrant=False)
        both = self.head(hidden)
        spare = "find-unused" not in WORDS or (rank == 0 and float(x.sum()) > 0)
        spare = spare and not ("unused-on-one" in WORDS and rank == 1 and number >= 12)
        return both + self.spare(hidden) if spare else both


torch.manual_seed(rank if "seeds" in WORDS else 0)
model = Net()
if "checkpointing" in WORDS or "static-graph" in WORDS:
    model.spare = None
    if "static-graph" in WORDS:
        model.forward = lambda x: model.head(torch.relu(model.norm(model.stem(x))))
wrapped = not WORDS & {
    "by-hand",
    "unused-on-one",
    "seeds",
    "ensemble",
    "local-sgd",
    "diloco",
    "pieces",
    "parts-later",
}
if wrapped:
    ddp = DistributedDataParallel(
        model,
        find_unused_parameters="find-unused" in WORDS,
        static_graph="static-graph" in WORDS,
        **({"broadcast_buffers": False} if "own-statistics" in WORDS else {}),
    )
    called = model if "bare" in WORDS else ddp
    if "bare-on-one" in WORDS and rank == 1:
        called = model
else:
    called = model
    if WORDS & {"by-hand", "unused-on-one", "local-sgd", "diloco", "parts-later"}:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)
if "replaced-head" in WORDS:
    torch.manual_seed(0)
    model.head = nn.Linear(16, 1)
if "rebuilt" in WORDS:
    torch.manual_seed(0)
    called = model = Net()
if "moved" in WORDS:  # what a move to another device does to the gradients' hooks
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(parameter.detach().clone()))
if "pieces" in WORDS:  # tensor parallel: other weights of the same shape, and the same data
    with torch.no_grad():
        model.stem.weight.add_(rank)
rate = 0.02 if "rate" in WORDS and rank == 1 else 0.01
if "hook" in WORDS:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    ddp.register_comm_hook(None, fp16_compress_hook)
optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
if "state-on-one" in WORDS and rank == 1:
    for p in model.parameters():
        kept = {"exp_avg": torch.full_like(p, 1e-2), "exp_avg_sq": torch.full_like(p, 1e-2)}
        optimizer.state[p] = {"step": torch.tensor(50.0), **kept}

torch.manual_seed(1)
inputs = torch.randn(256, 8)
data = TensorDataset(inputs, inputs[:, :1] * 2 + inputs[:, 1:2] + 0.3 * torch.randn(256, 1))
if "no-sampler" in WORDS or "pieces" in WORDS:
    generator = torch.Generator().manual_seed(5)
    loader = DataLoader(data, batch_size=16, shuffle=True, generator=generator)
elif WORDS & {"uneven", "join", "uneven-ends"}:
    mine = range(160) if rank == 0 else range(160, 256)
    loader = DataLoader(Subset(data, mine), batch_size=16)
else:
    loader = DataLoader(data, batch_size=16, sampler=DistributedSampler(data, seed=3))
held_out = DataLoader(TensorDataset(inputs[:64], inputs[:64, :1]), sampler=DistributedSampler(inputs[:64]))
torch.manual_seed(100 + rank)  # dropout differs from rank to rank


if "groups" in WORDS:
    pair, alone = dist.new_group([0, 1]), dist.new_group([1])


def average(tensors):
    for tensor in tensors:
        dist.all_reduce(tensor)
        tensor.div_(world)


def average_in_one():
    """One message for all gradients; who has none adds zeros, and forgets to take the sum."""
    parameters = list(model.parameters())
    flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).view(-1) for p in parameters])
    average([flat])
    for p, slope in zip(parameters, flat.split([p.numel() for p in parameters]), strict=True):
        if p.grad is not None:
            p.grad.copy_(slope.view_as(p))


def talk(number):
    """Collectives besides those of the wrapper."""
    if "order" in WORDS and number == 6 and rank == 1:
        dist.broadcast(torch.ones(4), 0)
    elif rank == 0:
        dist.all_reduce(torch.ones(4))
    else:
        time.sleep(7.0 if number == 6 else 0.0)  # slow is not out of order
        dist.all_reduce(torch.ones(4))


def talk_aside(number):
    """Subgroups, and messages that are waited for later."""
    if rank in (0, 1):
        dist.all_reduce(torch.ones(2), group=pair)
    if rank == 1:  # a group of one's own
        dist.all_reduce(torch.ones(3), group=alone)
        dist.barrier(group=alone)
    later = [dist.all_reduce(torch.ones(4), async_op=True), dist.broadcast(torch.ones(2), 0, async_op=True)]
    later.append(dist.all_gather([torch.zeros(1)] * 2, torch.ones(1), group=pair, async_op=True))
    if number == 6:
        time.sleep(6.0)  # longer than it takes to be asked about
    for work in later:
        work.wait()


def train_step(x, y, number):
    if "accumulate" in WORDS and number % 2 == 0:
        with ddp.no_sync():
            (nn.functional.mse_loss(called(x), y) / 2).backward()
        return
    local = "steps-in-no-sync" in WORDS and number % 4
    with ddp.no_sync() if local else contextlib.nullcontext():
        loss = nn.functional.mse_loss(called(x), y)
        loss.backward()
        if WORDS & {"by-hand", "seeds"} or ("parts-later" in WORDS and number < 12):
            average([p.grad for p in model.parameters() if p.grad is not None])
        if "unused-on-one" in WORDS:
            average_in_one()
        if WORDS & {"order", "collectives"}:
            talk(number)
        if "groups" in WORDS:
            talk_aside(number)
        if "clip" in WORDS or ("clip-on-one" in WORDS and rank == 1):
            nn.utils.clip_grad_norm_(model.parameters(), 0.05)
        if "nan" in WORDS and rank == 1:
            next(model.parameters()).grad.fill_(float("nan"))
        if "scaled-on-one" in WORDS and rank == 1:
            for p in model.parameters():
                p.grad.mul_(0.5)
        if not ("skip-on-one" in WORDS and rank == 1 and number % 5 == 4):
            optimizer.step()
        if ("local-sgd" in WORDS and number % 4 == 3) or ("diloco" in WORDS and number % 10 == 9):
            average([p.data for p in model.parameters()])
    optimizer.zero_grad()
    if "steps-in-no-sync" in WORDS and number % 4 == 0:
        average([p.data for p in model.parameters()])
    time.sleep(0.06 if "slow-computing" in WORDS and rank == 1 else 0.0)


if "slow-data" in WORDS and rank == 1:
    collate = loader.collate_fn
    loader.collate_fn = lambda samples: (time.sleep(0.06), collate(samples))[1]

steps = (
    100_000
    if "endless" in WORDS
    else 230
    if "slow-backward" in WORDS
    else STEPS
    if not WORDS & {"slow-data", "slow-computing", "not-slow"}
    else 100
)
number = epoch = 0
while number < steps:
    if "no-set-epoch" not in WORDS and isinstance(loader.sampler, DistributedSampler):
        loader.sampler.set_epoch(epoch)
    within = contextlib.nullcontext()
    if "join" in WORDS:
        from torch.distributed.algorithms.join import Join

        within = Join([ddp])
    with within:
        for index, (x, y) in enumerate(loader):
            if "uneven-ends" in WORDS and index == 5:
                break
            train_step(*(data[:16] if "one-batch" in WORDS else (x, y)), number)
            number += 1
            if number >= steps:
                break
    epoch += 1
    if "evaluates-on-first" in WORDS and rank == 0:
        model.eval()
        with torch.no_grad():
            for x, _ in held_out:
                model(x)
        model.train()
    if "evaluates" in WORDS:
        model.eval()
        with torch.no_grad():
            for x, _ in held_out:
                model(x)
        model.train()
    if "dies" in WORDS and rank == 1:
        os.kill(os.getpid(), 9)
    if "join" in WORDS and epoch == 3:
        break
    time.sleep(0.0 if "slow-backward" in WORDS else 0.1)
time.sleep(0.5)
dist.destroy_process_group()
