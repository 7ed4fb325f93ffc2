import torch
from network import run


def main(block, x):
    return torch.compile(run)(block, x)
