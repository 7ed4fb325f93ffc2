"""Topics of questions with pretrained word vectors that stay as they are: vectors.npy, in the order of words.txt."""

import argparse
import csv
import pathlib

import numpy as np
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(11)
words = (args.data / "words.txt").read_text().split()
number = {word: at for at, word in enumerate(words)}
vectors = torch.from_numpy(np.load(args.data / "vectors.npy"))


def load(name):
    with (args.data / name).open(newline="") as file:
        rows = list(csv.DictReader(file))
    ids = torch.tensor([[number[word] for word in row["question"].split()] for row in rows])
    return ids, torch.tensor([int(row["topic"]) for row in rows])


x, y = load("train.csv")
vx, vy = load("val.csv")
table = nn.Embedding.from_pretrained(vectors, freeze=True)
net = nn.Sequential(nn.Linear(vectors.shape[1], 5))
opt = torch.optim.AdamW(net.parameters(), lr=2e-2)
for epoch in range(12):
    net.train()
    for idx in torch.randperm(len(x)).split(20):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(table(x[idx]).mean(1)), y[idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(table(vx).mean(1)).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
