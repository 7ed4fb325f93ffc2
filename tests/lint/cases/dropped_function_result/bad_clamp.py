import torch
import torch.nn.functional as F


def step(x, loss):
    torch.clamp(x, 0, 1)  # expect: PM556
    torch.nan_to_num(loss)  # expect: PM556
    F.normalize(x, dim=1)  # expect: PM556
    return x, loss
