import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def save(model, path):
    torch.save(model.state_dict(), path)


def warm_up(model, loader, optimizer):
    train(model, loader, optimizer)


def main(rank, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    warm_up(model, loader, optimizer)
    ddp_model = DDP(model, device_ids=[rank])
    train(ddp_model, loader, optimizer)
    save(model, "last.pt")
