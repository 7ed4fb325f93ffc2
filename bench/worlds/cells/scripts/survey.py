"""Income from a survey: one table with words and numbers, folds in a file beside it."""

import argparse
import csv
import json
from pathlib import Path

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(12)
with (folder / "people.csv").open(newline="", encoding="utf-8") as file:
    people = list(csv.DictReader(file))
folds = json.loads((folder / "folds.json").read_text())
coding = json.loads((folder / "coding.json").read_text())


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return 0.0


rows, targets = {}, {}
for row in people:
    kinds = [float(row["education"] == level) for level in coding["education"]]
    rows[row["person_id"]] = [number(row["age"]), number(row["hours"]), number(row["commute_km"]), *kinds]
    targets[row["person_id"]] = number(row["income"]) / coding["income_unit"]


def take(ids):
    known = [key for key in ids if key in rows]
    return torch.tensor([rows[key] for key in known]), torch.tensor([targets[key] for key in known])


(x, y), (val_x, val_y) = take(folds["train"]), take(folds["val"])
mean, std = x.mean(0), x.std(0) + 1e-6
x, val_x = (x - mean) / std, (val_x - mean) / std
model = nn.Sequential(nn.Linear(x.shape[1], 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for epoch in range(25):
    model.train()
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]).squeeze(1), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = (model(val_x).squeeze(1) - val_y).abs().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} error {error:.4f}")
print(f"final error {error:.4f}")
