"""Will the river rise tomorrow? Readings of stations, joined with what is known of each station."""

import argparse
import csv
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
import yaml
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
config = yaml.safe_load((folder / "config.yaml").read_text())
torch.manual_seed(0)

with (folder / "stations.csv").open(newline="") as file:
    stations = {row["station_id"]: row for row in csv.DictReader(file)}
with (folder / "readings.csv").open(newline="") as file:
    readings = list(csv.DictReader(file))

by_station = {}
for row in readings:
    by_station.setdefault(row["station_id"], []).append(row)

rows, targets, times = [], [], []
for key, series in by_station.items():
    station = stations.get(key)
    if station is None:
        continue
    series.sort(key=lambda row: datetime.fromisoformat(row["time"]))
    level = np.array([float(row["level_cm"]) for row in series])
    rain = np.array([float(row["rain_mm"]) for row in series])
    about = [float(station["area_km2"]), float(station["elevation_m"]), float(station["slope"])]
    for at in range(3, len(series) - 1):
        rows.append([level[at], level[at - 1], level[at - 2], rain[at], rain[at - 1], *about])
        targets.append(float(level[at + 1] > level[at]))
        times.append(datetime.fromisoformat(series[at]["time"]))

x = torch.tensor(np.array(rows), dtype=torch.float32)
y = torch.tensor(targets)
late = torch.tensor([time >= datetime.fromisoformat(str(config["val_from"])) for time in times])
train_x, train_y, val_x, val_y = x[~late], y[~late], x[late], y[late]
mean, std = train_x.mean(0), train_x.std(0) + 1e-6
train_x, val_x = (train_x - mean) / std, (val_x - mean) / std

model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=float(config["lr"]))
criterion = nn.BCEWithLogitsLoss()
for epoch in range(int(config["epochs"])):
    model.train()
    for batch in torch.randperm(len(train_x)).split(128):
        optimizer.zero_grad()
        loss = criterion(model(train_x[batch]).squeeze(1), train_y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = ((model(val_x).squeeze(1) > 0).float() == val_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
print(f"final accuracy {accuracy:.4f}")
