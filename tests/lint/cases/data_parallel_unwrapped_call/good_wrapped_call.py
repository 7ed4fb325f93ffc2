import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, model, loader, criterion):
    ddp_model = DDP(model.to(rank), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(ddp_model(x), y).backward()
        optimizer.step()
    torch.save(model.state_dict(), "last.pt")
