import torch
from torch import nn


def run(model, loader, optimizer, epochs):
    model_without_ddp = model
    model = nn.parallel.DistributedDataParallel(model)
    for epoch in range(epochs):
        for batch in loader:
            loss = model_without_ddp(batch).mean()  # expect: PM545
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
