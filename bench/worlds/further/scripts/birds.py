"""Bird calls from their spectrum: 16-bit mono wav files, `species_number.wav`, in train/ and val/."""

import argparse
import pathlib
import wave

import numpy as np
import torch
from torch import nn

LENGTH = 1024


def spectrum(path):
    with wave.open(str(path)) as file:
        sound = np.frombuffer(file.readframes(LENGTH), dtype="<i2").astype(np.float32) / 32768
    power = np.abs(np.fft.rfft(sound * np.hanning(LENGTH), LENGTH))[:512]
    return np.log1p(power.reshape(32, 16).sum(1))


def load(folder, names=None):
    files = sorted(folder.glob("*.wav"))
    names = names or sorted({path.stem.split("_")[0] for path in files})
    x = torch.from_numpy(np.stack([spectrum(path) for path in files]).astype("float32"))
    return x, torch.tensor([names.index(path.stem.split("_")[0]) for path in files]), names


ap = argparse.ArgumentParser()
ap.add_argument("--data", type=pathlib.Path, required=True)
args = ap.parse_args()
torch.manual_seed(4)
x, y, names = load(args.data / "train")
vx, vy, _ = load(args.data / "val", names)
mean, std = x.mean(), x.std()
x, vx = (x - mean) / std, (vx - mean) / std
net = nn.Sequential(nn.Linear(32, 48), nn.GELU(), nn.Linear(48, len(names)))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(14):
    net.train()
    for idx in torch.randperm(len(x)).split(24):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        acc = (net(vx).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val_acc {acc:.4f}")
print(f"final val_acc {acc:.4f}")
