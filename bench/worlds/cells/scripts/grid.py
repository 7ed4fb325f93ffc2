"""Load of a grid in the next hour: a file of loads and one of weather for each year, the last year for validation."""

import argparse
import csv
from datetime import datetime, timedelta
from pathlib import Path

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(9)


def read(kind, year):
    with (folder / f"{kind}_{year}.csv").open(newline="") as file:
        return {datetime.fromisoformat(row["time"]): row for row in csv.DictReader(file)}


def samples(year):
    loads, weather = read("load", year), read("weather", year)
    x, y = [], []
    for time, row in loads.items():
        before, sky = loads.get(time - timedelta(hours=1)), weather.get(time)
        if before is None or sky is None:
            continue
        hour = torch.tensor(2 * 3.14159265 * time.hour / 24)
        x.append(
            [
                float(before["load_mw"]),
                float(sky["temp"]),
                float(sky["sun"]),
                hour.sin(),
                hour.cos(),
                float(time.weekday() >= 5),
            ]
        )
        y.append(float(row["load_mw"]))
    return torch.tensor(x), torch.tensor(y)


x, y = samples(2021)
val_x, val_y = samples(2022)
mean, std, level, spread = x.mean(0), x.std(0) + 1e-6, y.mean(), y.std()
x, val_x = (x - mean) / std, (val_x - mean) / std
model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()
for epoch in range(12):
    model.train()
    for batch in torch.randperm(len(x)).split(128):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]).squeeze(1), (y[batch] - level) / spread)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = (model(val_x).squeeze(1) * spread + level - val_y).abs().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} error {error:.4f}")
print(f"final error {error:.4f}")
