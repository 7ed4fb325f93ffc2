"""A small language model on a file of tokens, as nanoGPT stores them."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--data", type=Path, required=True)
folder = parser.parse_args().data
torch.manual_seed(10)
meta = json.loads((folder / "meta.json").read_text())
train = np.memmap(folder / "train.bin", dtype=np.uint16, mode="r")
val = np.memmap(folder / "val.bin", dtype=np.uint16, mode="r")
size = meta["vocab_size"]


def batch(data, rows=32, length=24):
    starts = torch.randint(len(data) - length - 1, (rows,))
    x = torch.stack([torch.from_numpy(data[s : s + length].astype("int64")) for s in starts])
    y = torch.stack([torch.from_numpy(data[s + 1 : s + 1 + length].astype("int64")) for s in starts])
    return x.clamp(max=size - 1), y.clamp(max=size - 1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.cell, self.head = (
            nn.Embedding(size, 32),
            nn.GRU(32, 64, batch_first=True),
            nn.Linear(64, size),
        )

    def forward(self, x):
        return self.head(self.cell(self.embedding(x))[0])


model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for step in range(240):
    model.train()
    x, y = batch(train)
    optimizer.zero_grad()
    loss = criterion(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        model.eval()
        with torch.no_grad():
            held = (
                sum(
                    criterion(model(x).flatten(0, 1), y.flatten()).item()
                    for x, y in (batch(val) for _ in range(8))
                )
                / 8
            )
        print(f"step {step} loss {loss.item():.4f} validation {held:.4f}")
print(f"final validation {held:.4f}")
