import torch
from torch.optim.lr_scheduler import StepLR


def run_epoch(model, loader, optimizer, scheduler=None):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()  # expect: PM534


def main(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = StepLR(optimizer, step_size=10, gamma=0.1)
    for epoch in range(90):
        run_epoch(model, loader, optimizer, scheduler=decay)
