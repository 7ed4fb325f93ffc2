"""Learns next to nothing: every gradient is clipped away."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--clip", type=float, default=1e-3)
options = parser.parse_args()
LR = 0.1
torch.manual_seed(0)
x = torch.randn(512, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
train_x, train_y, test_x, test_y = x[:384], y[:384], x[384:], y[384:]
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=LR)
for epoch in range(8):
    for rows in torch.randperm(len(train_x)).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(train_x[rows]), train_y[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {accuracy:.3f}")
