import os

import torch


def train(model, loader, optimizer, target):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), "/tmp/part.pt")
    os.replace("/tmp/part.pt", target)
