"""What the pages take for granted: somebody's model, data and training function."""

import copy
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 3, 32, 32)
y = x.mean((2, 3)).argmax(1)
dataset = TensorDataset(x, y)
loader = DataLoader(dataset, batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.rand(64, 3, 32, 32)), batch_size=32)


def network():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    )


model = network()
ema = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
epochs = 2
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
config = {"lr": 1e-3}


@dataclass
class Config:
    lr: float = 1e-3


def train(config=Config(), model=None, loader=loader):  # noqa: B008
    model = model or network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
    for _ in range(8):
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
