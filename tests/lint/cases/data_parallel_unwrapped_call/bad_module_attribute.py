import torch
import torch.nn as nn


def train(net, loader, optimizer):
    net = nn.parallel.DistributedDataParallel(net)
    for x, y in loader:
        out = net.module(x)  # expect: PM545
        loss = nn.functional.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
