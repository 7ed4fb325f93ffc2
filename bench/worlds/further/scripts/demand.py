"""Electric load of the next hour from the hour of the day and the weather. Times are ISO 8601; split.json has the cutoffs."""

import argparse
import csv
import json
from datetime import datetime
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def features(rows):
    x, y, when = [], [], []
    for row in rows:
        time = datetime.fromisoformat(row["time"]).replace(tzinfo=None)
        hour = 2 * np.pi * time.hour / 24
        noise = [float(row[f"cell{k}"]) for k in range(6)]
        x.append(
            [np.sin(hour), np.cos(hour), float(row["temperature"]) / 10 - 1, time.weekday() / 3 - 1, *noise]
        )
        y.append(float(row["load"]))
        when.append(time)
    return torch.tensor(np.array(x, "float32")), torch.tensor(y), when


def read(path):
    with path.open(newline="") as file:
        return features(csv.DictReader(file))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=Path, required=True)
    ap.add_argument("--epochs", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(5)
    if (path := args.data / "split.json").exists():
        cut = {key: datetime.fromisoformat(value) for key, value in json.loads(path.read_text()).items()}
        x, y, when = read(args.data / "load.csv")
        first = torch.tensor([time < cut["train_until"] for time in when])
        later = torch.tensor([time >= cut["val_from"] for time in when])
        x, y, vx, vy = x[first], y[first], x[later], y[later]
    else:
        x, y, _ = read(args.data / "train.csv")
        vx, vy, _ = read(args.data / "val.csv")
    mean, std = y.mean(), y.std()
    net = nn.Sequential(nn.Linear(10, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    loader = DataLoader(TensorDataset(x, (y - mean) / std), 32, shuffle=True)
    for epoch in range(args.epochs):
        net.train()
        for a, b in loader:
            opt.zero_grad()
            loss = nn.functional.mse_loss(net(a).squeeze(1), b)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = (net(vx).squeeze(1) * std + mean - vy).abs().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_mae {error:.3f}")
    print(f"final val_mae {error:.4f}")


if __name__ == "__main__":
    main()
