import torch
import torch.nn as nn


def train(model, loader, optimizer, k):
    for i, x in enumerate(loader):
        (model(x).mean() / k).backward()
        if (i + 1) % k == 0:
            optimizer.step()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: PM550
            optimizer.zero_grad()
