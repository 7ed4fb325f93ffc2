import torch


def correlate(x, mask):
    corr = torch.bmm(x.transpose(1, 2), x)
    return corr.masked_fill(mask, -1e9)  # expect: PM502
