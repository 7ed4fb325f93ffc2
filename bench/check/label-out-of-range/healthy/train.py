"""A perceptron on a table."""

import csv

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def table(name):
    with open(f"tables/{name}.csv") as file:
        rows = list(csv.reader(file))[1:]
    values = torch.tensor([[float(cell) for cell in row[:-1]] for row in rows])
    return TensorDataset(values, torch.tensor([int(row[-1]) for row in rows]))


torch.manual_seed(0)
train, val = table("train"), table("val")
classes = int(train.tensors[1].max()) + 1
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, classes))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    for x, y in DataLoader(train, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    net.eval()
    with torch.no_grad():
        x, y = val.tensors
        print(epoch, (net(x).argmax(1) == y).float().mean().item())
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, "table.pt")
