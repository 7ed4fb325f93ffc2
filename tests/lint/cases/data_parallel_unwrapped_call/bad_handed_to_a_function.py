import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def main(rank, model, loader):
    model = model.to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.1)
    train(model, loader, optimizer)  # expect: PM545
