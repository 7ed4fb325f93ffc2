"""A script that puts its own functions over torch's, and takes them off again."""
import torch
import torch.nn.functional as F
from torch import nn
kept = F.mse_loss, nn.Module.__call__, torch.save, torch.optim.SGD.step
def louder(*args, **kwargs):
    print("louder")
    return kept[0](*args, **kwargs)
def call(self, *args, **kwargs):
    print("call", type(self).__name__)
    return kept[1](self, *args, **kwargs)
def step(self, closure=None):
    print("step")
    return kept[3](self, closure)
F.mse_loss, nn.Module.__call__, torch.optim.SGD.step = louder, call, step
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    F.mse_loss(model(torch.ones(1, 2)), torch.zeros(1, 1)).backward()
    optimizer.step()
F.mse_loss, nn.Module.__call__, torch.optim.SGD.step = kept[0], kept[1], kept[3]
F.mse_loss(model(torch.ones(1, 2)), torch.zeros(1, 1)).backward()
optimizer.step()
from unittest import mock
with mock.patch("torch.save") as save:
    torch.save(1, "x")
print(save.call_args, torch.save is kept[2])
