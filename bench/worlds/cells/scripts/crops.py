"""Things in pictures: boxes from a COCO file are cut out and named."""

import argparse
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
torch.manual_seed(13)


class Crops(Dataset):
    def __init__(self, split):
        found = json.loads((folder / f"{split}.json").read_text())
        kinds = sorted(kind["id"] for kind in found["categories"])
        files = {image["id"]: image["file_name"] for image in found["images"]}
        self.samples = [
            (files[note["image_id"]], note["bbox"], kinds.index(note["category_id"]))
            for note in found["annotations"]
        ]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, at):
        name, (left, top, width, height), kind = self.samples[at]
        picture = Image.open(folder / "images" / name).convert("RGB")
        crop = picture.crop((left, top, left + width, top + height)).resize((16, 16))
        return torch.from_numpy(np.asarray(crop, dtype="float32").transpose(2, 0, 1) / 127.5 - 1), kind


train = DataLoader(Crops("train"), batch_size=32, shuffle=True)
val = DataLoader(Crops("val"), batch_size=64)
model = nn.Sequential(nn.Conv2d(3, 12, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(588, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val)
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right / len(val.dataset):.4f}")
print(f"final accuracy {right / len(val.dataset):.4f}")
