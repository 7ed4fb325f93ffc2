"""Topics of headlines with word vectors of others, which are not trained."""

import argparse
import csv
from pathlib import Path

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(11)
words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
vectors = torch.from_numpy(np.load(folder / "vectors.npy")).float()
place = {word: at for at, word in enumerate(words)}


def load(name):
    x, y = [], []
    with (folder / name).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            known = [place[word] for word in row["headline"].split() if word in place]
            x.append(vectors[known].mean(0) if known else torch.zeros(vectors.shape[1]))
            y.append(int(row["topic"]))
    return torch.stack(x), torch.tensor(y)


(x, y), (val_x, val_y) = load("train.csv"), load("test.csv")
model = nn.Sequential(nn.Linear(x.shape[1], 32), nn.ReLU(), nn.Linear(32, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(15):
    model.train()
    for batch in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        loss = criterion(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(val_x).argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.4f}")
print(f"final accuracy {accuracy:.4f}")
