"""Wine from a table, steered by a configuration file and the environment."""

import argparse
import csv
import os
from pathlib import Path

import torch
import yaml
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
config = yaml.safe_load((folder / "config.yaml").read_text())
torch.manual_seed(int(os.environ.get("WINE_SEED", "6")))

with (folder / "wine.csv").open(newline="") as file:
    table = list(csv.DictReader(file))
limit = int(os.environ.get("WINE_ROWS", "0"))
if limit:
    table = table[:limit]
classes = [str(name) for name in config["regions"]]
table = [row for row in table if row["region"] in classes]
x = torch.tensor([[float(row[name]) for name in config["features"]] for row in table])
y = torch.tensor([classes.index(row["region"]) for row in table])
order = torch.randperm(len(x))
x, y = x[order], y[order]
cut = int(float(config["train_share"]) * len(x))
if config["normalize"]:
    x = (x - x[:cut].mean(0)) / (x[:cut].std(0) + 1e-6)
weight = (
    torch.tensor([float(config["weights"][name]) for name in config["regions"]])
    if config["weights"]
    else None
)

model = nn.Sequential(
    nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Dropout(float(config["dropout"])), nn.Linear(32, len(classes))
)
rate = float(os.environ.get("WINE_LR", config["lr"]))
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
criterion = nn.CrossEntropyLoss(weight=weight)
for epoch in range(int(config["epochs"])):
    model.train()
    for batch in torch.randperm(cut).split(int(config["batch_size"])):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x[cut:]).argmax(1) == y[cut:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
print(f"final accuracy {accuracy:.4f}")
