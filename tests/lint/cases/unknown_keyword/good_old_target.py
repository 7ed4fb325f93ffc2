# runs with: torch==2.4.1
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau


def build(optimizer, model):
    torch.compile(model, fullgraph=True, mode="reduce-overhead")
    return ReduceLROnPlateau(optimizer, verbose=True)
