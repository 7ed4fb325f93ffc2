# runs with: torch==2.4.1; torchvision==0.15.2
import torch
import torchvision.transforms.functional_tensor as FT


def decompose(a):
    return torch.qr(a), torch.cholesky(a), FT.hflip(a)
