"""Whether a visitor comes back, from a log in JSON lines. A line that cannot be parsed is left out, as in every log."""

import argparse
import json
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

NAMES = [f"f{at:02d}" for at in range(20)]


def read(path):
    x, y = [], []
    for line in path.read_text().splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        x.append([row[name] for name in NAMES])
        y.append(row["returned"])
    return torch.tensor(x), torch.tensor(y, dtype=torch.float32)


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(9)
(x, y), (vx, vy) = read(args.data / "train.jsonl"), read(args.data / "val.jsonl")
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.05)
loader = DataLoader(TensorDataset(x, y), 32, shuffle=True)
for epoch in range(15):
    net.train()
    for a, b in loader:
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(net(a).squeeze(1), b)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = ((net(vx).squeeze(1) > 0) == (vy > 0.5)).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
