"""The next note of a melody: train.npy and val.npy hold tokens, one melody per row, padded with 0."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

NOTES = 40


class Singer(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, 24, padding_idx=0)
        self.gru = nn.GRU(24, 48, batch_first=True)
        self.head = nn.Linear(48, NOTES)

    def forward(self, x):
        return self.head(self.gru(self.notes(x))[0])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(2)
    train, val = (
        torch.from_numpy(np.load(args.data / f"{name}.npy").astype("int64")) for name in ("train", "val")
    )
    net = Singer()
    opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for epoch in range(8):
        net.train()
        for tune in DataLoader(train, batch_size=24, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(
                net(tune[:, :-1]).flatten(0, 1), tune[:, 1:].flatten(), ignore_index=0
            )
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            held = nn.functional.cross_entropy(
                net(val[:, :-1]).flatten(0, 1), val[:, 1:].flatten(), ignore_index=0
            )
        print(f"epoch {epoch} loss {loss.item():.4f} val_loss {held.item():.4f}")
    print(f"final val_loss {held.item():.4f}")


if __name__ == "__main__":
    main()
