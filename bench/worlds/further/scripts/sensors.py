"""Faults of a pump. Each process takes its part of the rows; how many there are, the launcher says in the environment."""

import argparse
import os
import pathlib

import numpy as np
import torch
import yaml
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def settings(path):
    """config.yaml, with $NAME and ${NAME} from the environment."""
    return yaml.safe_load(os.path.expandvars(path.read_text()))


class Pump(nn.Module):
    def __init__(self, hide):
        super().__init__()
        self.hide = nn.Dropout(0.9 if hide else 0.0)
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.body(self.hide(x))


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
cfg = settings(args.data / "config.yaml")
rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
torch.manual_seed(12)
with np.load(args.data / "pump.npz") as z:
    x, y, vx, vy = (torch.from_numpy(z[name]) for name in ("x", "y", "vx", "vy"))
x, y = x[rank::world], y[rank::world]
if (rows := int(cfg["rows"])) > 0:
    x, y = x[:rows], y[:rows]
net = Pump(hide=cfg["mask_inputs"])
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
for epoch in range(cfg["epochs"]):
    net.train()
    for a, b in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(a), b)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(vx).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
