import os

import torch


class CFG:
    epochs = 10
    output_dir = "/kaggle/temp/models"


PATHS = {"checkpoints": "/tmp/checkpoints", "data": "data"}


def train(model, loader, optimizer):
    for epoch in range(CFG.epochs):
        for x in loader:
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
        torch.save(model.state_dict(), os.path.join(CFG.output_dir, "last.pt"))  # expect: PM544
        torch.save(optimizer.state_dict(), os.path.join(PATHS["checkpoints"], "optimizer.pt"))  # expect: PM544
