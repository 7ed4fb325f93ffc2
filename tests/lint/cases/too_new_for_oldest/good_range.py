# runs with: torch>=2.6
import torch
from torch.amp import GradScaler


def build(dataset):
    torch.utils.data.DataLoader(dataset, in_order=False)
    return GradScaler(), torch.nn.RMSNorm(8)
