import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SpikeClips(Dataset):
    """Voxel grids; unpacking one takes a while."""

    def __init__(self, n, seed):
        self.n, self.seed = n, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        time.sleep(0.012)  # decompression
        g = torch.Generator().manual_seed(self.seed * 10007 + i)
        sharp = torch.rand(1, 16, 16, generator=g)
        blur = nn.functional.avg_pool2d(sharp[None], 3, stride=1, padding=1)[0]
        return blur - 0.5, sharp - 0.5


def main():
    torch.manual_seed(3)
    train = DataLoader(SpikeClips(96, 1), batch_size=12, shuffle=True)
    val = DataLoader(SpikeClips(24, 2), batch_size=12)
    net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(3):
        net.train()
        for blur, sharp in train:
            loss = nn.functional.l1_loss(blur + net(blur), sharp)
            opt.zero_grad()
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            score = sum(nn.functional.l1_loss(b + net(b), s).item() for b, s in val) / len(val)
        print(f"epoch {epoch} l1 {score:.4f}")


if __name__ == "__main__":
    main()
