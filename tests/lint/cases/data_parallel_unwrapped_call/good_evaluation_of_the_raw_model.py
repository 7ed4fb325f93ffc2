import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, val_loader, optimizer):
    ddp_model = DDP(model)
    for x in loader:
        optimizer.zero_grad()
        ddp_model(x).sum().backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for x in val_loader:
            print(model(x).sum(), ddp_model.module(x).sum())
