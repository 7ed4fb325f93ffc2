# runs with: torch==1.0.1
import torch
from torch.optim.lr_scheduler import StepLR


def train(net, loader):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, 10)
    for _epoch in range(90):
        scheduler.step()
        for batch in loader:
            optimizer.zero_grad()
            net(batch).mean().backward()
            optimizer.step()
