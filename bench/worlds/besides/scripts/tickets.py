"""Topics of tickets: train.jsonl and val.jsonl with `text` and `topic`; the words are those of the training file."""

import argparse
import collections
import json
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LENGTH = 14


def read(path):
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def encode(rows, words):
    ids = torch.zeros(len(rows), LENGTH, dtype=torch.long)
    for at, row in enumerate(rows):
        for place, word in enumerate(row["text"].split()[:LENGTH]):
            ids[at, place] = words.get(word, 1)
    return TensorDataset(ids, torch.tensor([row["topic"] for row in rows]))


class Bag(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.embed = nn.Embedding(words, 32, padding_idx=0)
        self.head = nn.Linear(32, 4)

    def forward(self, ids):
        known = (ids != 0).unsqueeze(2)
        return self.head((self.embed(ids) * known).sum(1) / known.sum(1).clamp(min=1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(6)
    train, val = read(args.data / "train.jsonl"), read(args.data / "val.jsonl")
    counts = collections.Counter(word for row in train for word in row["text"].split())
    words = {word: at + 2 for at, (word, n) in enumerate(counts.most_common()) if n > 1}
    loader = DataLoader(encode(train, words), batch_size=32, shuffle=True)
    judged = DataLoader(encode(val, words), batch_size=100)
    net = Bag(len(words) + 2)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for epoch in range(8):
        net.train()
        for ids, topic in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(ids), topic)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(ids).argmax(1) == topic).sum().item() for ids, topic in judged)
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {right / len(val):.4f}")
    print(f"final val_acc {right / len(val):.4f}")


if __name__ == "__main__":
    main()
