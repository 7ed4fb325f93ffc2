"""Earthquake / blast / noise discrimination streamed from shard files on disk."""
import glob
import os
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset


def write_shards(folder, n_shards, per_shard, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(64) / 64
    for s in range(n_shards):
        y = rng.integers(0, 3, per_shard)
        onset = rng.uniform(0.1, 0.5, (per_shard, 1))
        decay = np.where(y == 0, 4.0, 12.0)[:, None]
        freq = np.where(y == 0, 8.0, 14.0)[:, None]
        tail = np.clip(t[None] - onset, 0, None)
        wave = np.where(tail > 0, np.exp(-decay * tail) * np.sin(2 * np.pi * freq * tail), 0)
        wave = wave * (y != 2)[:, None] * 1.5 + 0.35 * rng.normal(size=(per_shard, 64))
        np.savez(os.path.join(folder, f"seismo-{s:03d}.npz"), wave=wave.astype(np.float32), label=y)


class ShardStream(IterableDataset):
    def __init__(self, pattern, shuffle, seed=0):
        self.files = sorted(glob.glob(pattern))
        self.shuffle, self.rng = shuffle, random.Random(seed)

    def __iter__(self):
        files = list(self.files)
        if self.shuffle:
            self.rng.shuffle(files)
        for path in files:
            with np.load(path) as z:
                wave, label = z["wave"], z["label"]
            order = list(range(len(label)))
            if self.shuffle:
                self.rng.shuffle(order)
            for i in order:
                yield wave[i][None], int(label[i])


class PhaseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv1d(1, 12, 7, 2, 3), nn.ReLU(), nn.Conv1d(12, 24, 5, 2, 2), nn.ReLU())
        self.fc = nn.Linear(48, 3)

    def forward(self, x):
        h = self.f(x)
        return self.fc(torch.cat([h.mean(2), h.amax(2)], 1))


def main(root):
    for split, n, seed in (("train", 8, 1), ("val", 2, 2)):
        os.makedirs(os.path.join(root, split))
        write_shards(os.path.join(root, split), n, 150, seed)
    train = DataLoader(ShardStream(os.path.join(root, "train", "seismo_*.npz"), True), batch_size=30)
    val = DataLoader(ShardStream(os.path.join(root, "val", "seismo-*.npz"), False), batch_size=100)
    net = PhaseNet()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(8):
        net.train()
        total, count = 0.0, 0
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, count = total + loss.item() * len(y), count + len(y)
        net.eval()
        with torch.no_grad():
            hits = [(net(x).argmax(1) == y).float() for x, y in val]
        print(f"epoch {epoch} loss {total / max(count, 1):.4f} val acc {torch.cat(hits).mean():.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(2)
    with tempfile.TemporaryDirectory() as tmp:
        main(tmp)
