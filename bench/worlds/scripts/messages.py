"""Topic of short messages: train.jsonl and val.jsonl (text, topic) and vocab.json (word to number)."""

import argparse
import json
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader

LENGTH = 12


def read(path, vocab):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    ids = [[vocab.get(word, 1) for word in row["text"].split()][:LENGTH] for row in rows]
    padded = torch.tensor([row + [0] * (LENGTH - len(row)) for row in ids])
    return list(zip(padded, torch.tensor([row["topic"] for row in rows]), strict=True))


class Bag(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.table = nn.Embedding(words, 24, padding_idx=0)
        self.head = nn.Linear(24, 4)

    def forward(self, ids):
        return self.head(self.table(ids).sum(1) / (ids > 0).sum(1, keepdim=True).clamp_min(1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(4)
    vocab = json.loads((args.data / "vocab.json").read_text())
    train, val = (read(args.data / f"{split}.jsonl", vocab) for split in ("train", "val"))
    net = Bag(max(vocab.values()) + 1)
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    loader, val_loader = DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=200)
    for epoch in range(args.epochs):
        net.train()
        for ids, topic in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(ids), topic)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            hit = sum((net(ids).argmax(1) == topic).sum().item() for ids, topic in val_loader)
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {hit / len(val):.4f}")
    print(f"final val_acc {hit / len(val):.4f}")


if __name__ == "__main__":
    main()
