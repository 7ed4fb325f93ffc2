"""Video deblurring from spikes: clips of blurred frames, spike voxels and sharp frames, all kept in memory."""

import argparse
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLIP_LEN = 12


class SpikeClips(Dataset):
    def __init__(self, root, split, clip_len=CLIP_LEN):
        self.dir = Path(root) / split
        self.cache = []
        for seq in sorted((self.dir / "blur").glob("*")):
            frames = sorted(p.stem for p in seq.glob("*.png"))
            for start in range(0, len(frames) - clip_len + 1, clip_len):
                self.cache.append(self.load(seq.name, frames[start : start + clip_len]))
        print(f"{split}: {len(self.cache)} clips in RAM")

    def load(self, seq, frames):
        blur = [self.image("blur", seq, f) for f in frames]
        sharp = [self.image("sharp", seq, f) for f in frames]
        vox = [torch.from_numpy(np.load(self.dir / "spike_vox" / seq / f"{f}.npy")) for f in frames]
        return torch.cat([torch.stack(blur), torch.stack(vox)], 1), torch.stack(sharp)

    def image(self, role, seq, frame):
        pixels = np.asarray(Image.open(self.dir / role / seq / f"{frame}.png").convert("RGB"))
        return torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() / 255

    def __len__(self):
        return len(self.cache)

    def __getitem__(self, i):
        return self.cache[i]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data/gopro_spike")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(0)
    train = SpikeClips(args.root, "train")
    val = SpikeClips(args.root, "val")
    net = nn.Sequential(nn.Conv2d(5, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 3, 3, padding=1))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = DataLoader(train, batch_size=2, shuffle=len(train) > 0)
    for epoch in range(args.epochs):
        net.train()
        for x, y in loader:
            loss = nn.functional.l1_loss(net(x.flatten(0, 1)), y.flatten(0, 1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        net.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in DataLoader(val, batch_size=2):
                total += nn.functional.l1_loss(net(x.flatten(0, 1)), y.flatten(0, 1)).item()
        print(f"epoch {epoch}: val {total / max(len(val), 1):.4f}")
        torch.save({"net": net.state_dict(), "epoch": epoch}, "deblur.pt")


if __name__ == "__main__":
    main()
