"""Vibration of machines: eight shards of arrays, statistics beside them, the last shard for validation."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(2)

statistics = json.loads((folder / "stats.json").read_text())
mean, std = np.array(statistics["mean"], "float32"), np.array(statistics["std"], "float32")


def load(paths):
    xs = [np.load(path) for path in paths]
    ys = [np.load(path.with_name(path.name.replace("signal", "fault"))) for path in paths]
    x = (np.concatenate(xs).astype("float32") - mean) / std
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(np.concatenate(ys)).long())


paths = sorted(folder.glob("signal_*.npy"))
train = DataLoader(load(paths[:-1]), batch_size=64, shuffle=True)
val = DataLoader(load(paths[-1:]), batch_size=256)
model = nn.Sequential(nn.Linear(9, 48), nn.ReLU(), nn.Linear(48, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(12):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in val)
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right / len(val.dataset):.4f}")
print(f"final accuracy {right / len(val.dataset):.4f}")
