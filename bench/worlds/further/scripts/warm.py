"""Goes on with a training: weights, optimizer and the number of steps come from last.pt; the rate is a cosine of the steps."""

import argparse
import math
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
ap.add_argument("--total", type=int, default=600)
args = ap.parse_args()
torch.manual_seed(16)
with np.load(args.data / "spirals.npz") as z:
    x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"])
cut = int(0.8 * len(x))
net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
state = torch.load(args.data / "last.pt", weights_only=True)
net.load_state_dict(state["net"])
opt.load_state_dict(state["opt"])
done = state["steps"]
for epoch in range(12):
    net.train()
    for a, b in DataLoader(TensorDataset(x[:cut], y[:cut]), 40, shuffle=True):
        part = min(1.0, done / args.total)
        for group in opt.param_groups:
            group["lr"] = 1e-8 + 4e-3 * 0.5 * (1 + math.cos(math.pi * part))
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(a), b)
        loss.backward()
        opt.step()
        done += 1
    net.eval()
    with torch.no_grad():
        acc = (net(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
