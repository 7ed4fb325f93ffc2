"""Kinds of leaves: pictures in one folder, a table of labels, and a file that says which picture is in which split."""

import argparse
import csv
import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(4)

splits = json.loads((folder / "splits.json").read_text())
names = json.loads((folder / "classes.json").read_text())
with (folder / "labels.csv").open(newline="") as file:
    labels = {row["image_id"]: row["species"] for row in csv.DictReader(file)}


class Leaves(Dataset):
    def __init__(self, ids):
        self.ids = [key for key in ids if key in labels and (folder / "images" / f"{key}.png").exists()]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, at):
        key = self.ids[at]
        picture = Image.open(folder / "images" / f"{key}.png").convert("RGB").resize((24, 24))
        x = torch.from_numpy(np.asarray(picture, dtype="float32").transpose(2, 0, 1) / 255 - 0.5)
        return x, names.index(labels[key])


train = DataLoader(Leaves(splits["train"]), batch_size=32, shuffle=True)
val = DataLoader(Leaves(splits["val"]), batch_size=64)
model = nn.Sequential(
    nn.Conv2d(3, 12, 3, stride=2),
    nn.ReLU(),
    nn.Conv2d(12, 24, 3, stride=2),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(2),
    nn.Flatten(),
    nn.Linear(96, len(names)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val)
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right / max(1, len(val.dataset)):.4f}")
print(f"final accuracy {right / max(1, len(val.dataset)):.4f}")
