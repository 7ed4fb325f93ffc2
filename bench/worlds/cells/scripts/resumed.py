"""Goes on from a checkpoint when there is one; keeps the best."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(5)
setup = json.loads((folder / "setup.json").read_text())
arrays = np.load(folder / "cells.npz")
x, y = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["y"]).long()
cut = int(0.75 * len(x))

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, len(setup["classes"])))
optimizer = torch.optim.Adam(model.parameters(), lr=setup["lr"], weight_decay=setup["weight_decay"])
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=setup["epochs"])
start, best = 0, 0.0
last = folder / "last.pt"
if last.exists():
    state = torch.load(last, weights_only=False)
    model.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    start, best = state["epoch"], state["best"]
criterion = nn.CrossEntropyLoss()
for epoch in range(start, setup["epochs"]):
    model.train()
    for batch in torch.randperm(cut).split(64):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    scheduler.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
    if accuracy > best:
        best = accuracy
        torch.save(model.state_dict(), folder / "best.pt")
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
if (folder / "best.pt").exists():
    model.load_state_dict(torch.load(folder / "best.pt"))
model.eval()
with torch.no_grad():
    accuracy = (model(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
print(f"final accuracy {accuracy:.4f}")
