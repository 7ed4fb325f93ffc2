import copy

import torch
import torch.nn as nn


class Trainer:
    def __init__(self, backbone, num_classes):
        self.model = backbone
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.model.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(256, num_classes))  # expect: PM539

    def step(self, x, y):
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()


def continue_with_copy(net, loader):
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    net = copy.deepcopy(net)  # expect: PM539
    for x in loader:
        opt.zero_grad()
        net(x).sum().backward()
        opt.step()
