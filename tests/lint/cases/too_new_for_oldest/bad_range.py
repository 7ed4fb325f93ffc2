# runs with: torch>=2.1
import torch
from torch.amp import GradScaler  # expect: PM584


def build(dataset):
    torch.utils.data.DataLoader(dataset, in_order=False)  # expect: PM584
    return GradScaler(), torch.nn.RMSNorm(8)  # expect: PM584
