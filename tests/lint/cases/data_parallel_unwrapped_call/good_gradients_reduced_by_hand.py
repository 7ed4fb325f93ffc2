import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer):
    ddp_model = DDP(model)
    for x in loader:
        optimizer.zero_grad()
        ddp_model.module(x).sum().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
