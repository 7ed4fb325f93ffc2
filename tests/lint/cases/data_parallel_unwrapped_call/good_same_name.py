import torch.nn as nn


def train(model, loader, optimizer):
    model = nn.DataParallel(model).cuda()
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
