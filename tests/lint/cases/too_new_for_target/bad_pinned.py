# runs with: torch==2.2.2
import torch
from torch.amp import GradScaler  # expect: PM582
from torch.nn import RMSNorm  # expect: PM582
from torch.nn.attention.flex_attention import flex_attention  # expect: PM582


def build(model, params, dataset):
    norm = torch.nn.RMSNorm(8)  # expect: PM582
    loader = torch.utils.data.DataLoader(dataset, in_order=False)  # expect: PM582
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda:0"))  # expect: PM582
    small = torch.zeros(3, dtype=torch.uint16)  # expect: PM582
    return GradScaler(), RMSNorm(8), norm, loader, small, flex_attention
