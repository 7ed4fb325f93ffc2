import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, model, loader, criterion):
    model = model.to(rank)
    ddp_model = DDP(model, device_ids=[rank])
    optimizer = torch.optim.SGD(ddp_model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)  # expect: PM545
        loss.backward()
        optimizer.step()
