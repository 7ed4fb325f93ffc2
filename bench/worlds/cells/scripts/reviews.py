"""Stars of reviews from their words: JSON lines, a vocabulary and the names of the classes."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(3)

words = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
index = {word: place + 2 for place, word in enumerate(words) if word}
classes = json.loads((folder / "classes.json").read_text())


def load(name):
    samples = []
    with (folder / name).open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            if str(record["label"]) not in classes:
                continue
            ids = [index.get(word, 1) for word in record["text"].split()][:40]
            samples.append((ids or [1], classes.index(str(record["label"]))))
    return samples


def collate(batch):
    longest = max(len(ids) for ids, _ in batch)
    x = torch.zeros(len(batch), longest, dtype=torch.long)
    for at, (ids, _) in enumerate(batch):
        x[at, : len(ids)] = torch.tensor(ids)
    return x, torch.tensor([label for _, label in batch])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(index) + 2, 32, padding_idx=0)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, len(classes)))

    def forward(self, x):
        mask = (x != 0).unsqueeze(2).float()
        return self.head((self.embedding(x) * mask).sum(1) / mask.sum(1))


train = DataLoader(load("train.jsonl"), batch_size=64, shuffle=True, collate_fn=collate)
val = DataLoader(load("val.jsonl"), batch_size=256, collate_fn=collate)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
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
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {right / len(val.dataset):.4f}")
print(f"final accuracy {right / len(val.dataset):.4f}")
