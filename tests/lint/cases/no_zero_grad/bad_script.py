import torch
from torch import nn, optim

net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = optim.Adam(net.parameters(), lr=1e-3)
for it in range(2000):
    pred = net(X)
    loss = ((pred - Y) ** 2).mean()
    loss.backward()  # expect: PM533
    opt.step()
    if it % 100 == 0:
        print(it, loss.item())
