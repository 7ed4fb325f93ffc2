"""Solubility of molecules. Descriptors are slow to compute, so they are kept beside the table, in descriptors.npy."""

import argparse
import csv
import pathlib

import numpy as np
import torch
from torch import nn


def descriptors(formulas):
    counts = np.array([[formula.count(letter) for letter in "CHNOSFPK"] for formula in formulas], "float32")
    return np.concatenate([counts, np.sqrt(counts)], 1)


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(13)
with (args.data / "molecules.csv").open(newline="") as file:
    rows = list(csv.DictReader(file))
cache = args.data / "descriptors.npy"
if not cache.exists():
    np.save(cache, descriptors([row["formula"] for row in rows]))
x = torch.from_numpy(np.load(cache))
y = torch.tensor([float(row["solubility"]) for row in rows])
cut = int(0.8 * len(x))
x = (x - x[:cut].mean(0)) / x[:cut].std(0).clamp_min(1e-3)
mean, std = y[:cut].mean(), y[:cut].std()
net = nn.Sequential(nn.Linear(16, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(20):
    net.train()
    for idx in torch.randperm(cut).split(32):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x[idx]).squeeze(1), (y[idx] - mean) / std)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        error = (net(x[cut:]).squeeze(1) * std + mean - y[cut:]).abs().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_mae {error:.4f}")
print(f"final val_mae {error:.4f}")
