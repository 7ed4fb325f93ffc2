"""Sections of a newspaper. words.txt has one word per line; a headline becomes the numbers of its words."""

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Headlines(Dataset):
    def __init__(self, path, number, lower, width=10):
        self.rows = [json.loads(line) for line in path.read_text().splitlines()]
        self.number, self.lower, self.width = number, lower, width

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        row = self.rows[at]
        text = row["headline"].lower() if self.lower else row["headline"]
        ids = [self.number.get(word, 1) for word in text.split()][: self.width]
        return torch.tensor(ids + [0] * (self.width - len(ids))), row["section"]


class Net(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.words = nn.Embedding(words, 20, padding_idx=0)
        self.out = nn.Linear(20, 4)

    def forward(self, ids):
        return self.out(torch.tanh(self.words(ids)).mean(1))


def score(net, loader):
    net.eval()
    with torch.inference_mode():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(2)
    if (path := args.data / "tokenizer.json").exists():
        made = json.loads(path.read_text())
        number, lower = made["vocab"], made["lowercase"]
    else:
        with (args.data / "words.txt").open(newline="") as file:
            number = {word: at + 2 for at, word in enumerate(file.read().strip().split("\n"))}
        lower = True
    train = DataLoader(Headlines(args.data / "train.jsonl", number, lower), 32, shuffle=True)
    val = DataLoader(Headlines(args.data / "val.jsonl", number, lower), 64)
    net = Net(len(number) + 2)
    opt = torch.optim.Adam(net.parameters(), 6e-3)
    for epoch in range(10):
        net.train()
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, val_acc {score(net, val):.3f}")
    print(f"final val_acc {score(net, val):.4f}")
