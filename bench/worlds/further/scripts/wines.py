"""Grade of a wine from its grape, its region and two measurements. Parquet; words are stored as dictionary codes."""

import argparse
import pathlib

import numpy as np
import pyarrow.parquet as pq
import torch
from torch import nn


def load(path):
    table = pq.read_table(path, read_dictionary=["grape", "region"]).combine_chunks()
    codes = [table[name].chunk(0).indices.to_numpy() for name in ("grape", "region")]
    numbers = [table[name].to_numpy() for name in ("sugar", "acid")]
    as_long = torch.from_numpy(np.stack(codes, 1).astype("int64"))
    return (
        as_long,
        torch.from_numpy(np.stack(numbers, 1).astype("float32")),
        torch.tensor(table["grade"].to_numpy()),
    )


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.grape, self.region = nn.Embedding(16, 8), nn.Embedding(16, 8)
        self.head = nn.Sequential(nn.Linear(18, 48), nn.ReLU(), nn.Linear(48, 3))

    def forward(self, codes, numbers):
        return self.head(torch.cat([self.grape(codes[:, 0]), self.region(codes[:, 1]), numbers], 1))


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(7)
train, val = load(args.data / "train.parquet"), load(args.data / "val.parquet")
net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=4e-3)
for epoch in range(12):
    net.train()
    for idx in torch.randperm(len(train[0])).split(32):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(train[0][idx], train[1][idx]), train[2][idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(val[0], val[1]).argmax(1) == val[2]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
