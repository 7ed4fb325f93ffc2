"""Survival-like likelihood; probabilities are clamped before the log."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
x = torch.randn(640, 5)
event = (x[:, 0] + 0.3 * torch.randn(640) > 0).float()
loader = DataLoader(TensorDataset(x, event), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
for epoch in range(5):
    run = 0.0
    for xb, eb in loader:
        p = net(xb).squeeze(1).clamp(1e-6, 1 - 1e-6)
        loss = -(eb * p.log() + (1 - eb) * (1 - p).log()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
    print(epoch, run / len(loader))
