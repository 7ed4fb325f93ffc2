import os
from dataclasses import dataclass

import torch


@dataclass
class Config:
    output_dir: str = "runs/one"
    cache_dir: str = "/tmp/cache"


def train(model, loader, optimizer, folder="/tmp/run"):
    config = Config()
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), os.path.join(config.output_dir, "last.pt"))


def other(model, loader, optimizer, folder="/tmp/run"):
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), folder + "/final.pt")
