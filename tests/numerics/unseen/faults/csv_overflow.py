import io

import torch
from torch import nn

torch.manual_seed(50)
file = io.StringIO("\n".join(f"{i / 9:.3f},{(i * 7) % 11},{i % 5 - 2}" for i in range(180)))
lines = file.read().splitlines()
lines[33] = "3.667,1e999,1"
rows = torch.tensor([[float(cell) for cell in line.split(",")] for line in lines])
x = (rows[:, :2] - rows[:, :2].mean(0)) / rows[:, :2].std(0)
x = torch.nan_to_num(x)
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(5):
    for batch in torch.randperm(180).split(20):
        loss = (net(x[batch])[:, 0] - rows[batch, 2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
