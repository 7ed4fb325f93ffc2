import torch


def build(dataset):
    return torch.utils.data.DataLoader(dataset, in_order=False), torch.nn.RMSNorm(8)
