import torch
import torch.nn as nn
from torch.nn import BCELoss


def mse_loss(output, target):
    return nn.MSELoss(output, target)  # expect: PM523


def train(net, loader, optimizer):
    for inputs, labels in loader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = nn.CrossEntropyLoss(outputs, labels)  # expect: PM523
        loss.backward()
        optimizer.step()


class Wrapper:
    def loss(self, x, y):
        return BCELoss(self.net(x), y)  # expect: PM523

    def other(self, batch):
        return torch.nn.L1Loss(self.net(batch["x"]), batch.y)  # expect: PM523
