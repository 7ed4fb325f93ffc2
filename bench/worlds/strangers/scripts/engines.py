"""Which bearing of an engine is worn, from its sound: train/ and val/ with `bearing_number.wav`."""

import argparse
import pathlib
import wave

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def spectrum(path):
    with wave.open(str(path)) as file:
        sound = (
            np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")[:2048].astype("float32") / 32768
        )
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound)), 2048))[:1024]
    return np.log1p(power.reshape(64, 16).sum(1)).astype("float32")


def load(folder):
    files = sorted(folder.glob("*.wav"))
    return torch.from_numpy(np.stack([spectrum(p) for p in files])), torch.tensor(
        [int(p.stem.split("_")[0]) for p in files]
    )


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", type=pathlib.Path, required=True)
    args = ap.parse_args()
    torch.manual_seed(4)
    x, y = load(args.data / "train")
    vx, vy = load(args.data / "val")
    mean, std = x.mean(0), x.std(0)
    loader = DataLoader(TensorDataset((x - mean) / std, y), batch_size=24, shuffle=True)
    vx = (vx - mean) / std
    net = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 4))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for epoch in range(12):
        net.train()
        for bx, by in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(bx), by)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            acc = (net(vx).argmax(1) == vy).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
    print(f"final val_acc {acc:.4f}")


if __name__ == "__main__":
    main()
