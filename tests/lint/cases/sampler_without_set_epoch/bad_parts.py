import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def run(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        model(x, y).backward()
        optimizer.step()


def pretrain(model, parts, epochs, optimizer, make):
    for epoch in range(epochs):  # expect: PM546
        for part in range(parts):
            data = make(part)
            sampler = DistributedSampler(data, shuffle=True)
            loader = DataLoader(data, sampler=sampler)
            run(model, loader, optimizer)
