"""Risk of patients from their visits: one Parquet file, patients divided by the hash of their id."""

import argparse
import zlib
from pathlib import Path

import pyarrow.parquet as pq
import torch
from torch import nn

COLUMNS = ["age", "weight_kg", "height_cm", "systolic", "diastolic", "glucose", "stay_days"]

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(8)

visits = pq.read_table(folder / "visits.parquet").to_pylist()
x = torch.tensor([[float(row[name]) for name in COLUMNS] + [float(row["sex"] == "F")] for row in visits])
y = torch.tensor([float(row["readmitted"]) for row in visits])
held = torch.tensor([zlib.crc32(str(row["patient_id"]).encode()) % 4 == 0 for row in visits])
mean, std = x[~held].mean(0), x[~held].std(0) + 1e-6
x = (x - mean) / std
train_x, train_y, val_x, val_y = x[~held], y[~held], x[held], y[held]

model = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(15):
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
