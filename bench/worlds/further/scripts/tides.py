"""Height of the tide from the minute of the recording: minutes.npy and height.npy. The tide goes round in 745 minutes."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(15)
minute = torch.from_numpy(np.load(args.data / "minutes.npy").astype("float64"))
height = torch.from_numpy(np.load(args.data / "height.npy")).float()
angle = 2 * torch.pi * minute / 62.1
x = torch.stack([angle.sin(), angle.cos(), (2 * angle).sin(), (2 * angle).cos()], 1).float()
cut = int(0.75 * len(x))
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(20):
    net.train()
    for idx in torch.randperm(cut).split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[idx]).squeeze(1), height[idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        error = (net(x[cut:]).squeeze(1) - height[cut:]).abs().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_mae {error:.4f}")
print(f"final val_mae {error:.4f}")
