import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, OneCycleLR


def train(model, loader, criterion, epochs, warmup):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    one_cycle = OneCycleLR(optimizer, max_lr=0.1, total_steps=epochs * len(loader))
    cosine = CosineAnnealingLR(optimizer, T_max=epochs * len(loader))
    lambda_lr = LambdaLR(optimizer, lambda step: min(1.0, step / warmup))
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            one_cycle.step()
            cosine.step()
            lambda_lr.step()
