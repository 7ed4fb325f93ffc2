import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def tiles(n, g, size=20):
    """Blobs of canopy (mask 1) over textured ground."""
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    cx, cy = (torch.rand(2, n, 3, 1, 1, generator=g) * size)
    r = 2 + 3 * torch.rand(n, 3, 1, 1, generator=g)
    mask = (((xx - cx) ** 2 + (yy - cy) ** 2).sqrt() < r).any(1).float()
    red = 0.6 * mask + 0.5 * torch.randn(n, size, size, generator=g)
    nir = 0.9 * mask * (0.5 + torch.rand(n, 1, 1, generator=g)) + 0.5 * torch.randn(n, size, size, generator=g)
    return torch.stack([red, nir], 1), mask


class TinyUNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(2, c, 3, padding=1), nn.GroupNorm(2, c), nn.ReLU())
        self.mid = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.GroupNorm(2, 2 * c), nn.ReLU(),
                                 nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        e = self.enc(x)
        m = F.interpolate(self.mid(F.max_pool2d(e, 2)), scale_factor=2, mode="nearest")
        return self.out(torch.cat([e, m], 1)).squeeze(1)


def iou(logits, mask):
    p, m = logits > 0, mask > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--micro", type=int, default=4)
    ap.add_argument("--accum", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.04)
    return ap.parse_args()


def main(args):
    torch.set_num_threads(1)
    torch.manual_seed(88)
    g = torch.Generator().manual_seed(88)
    x, m = tiles(512, g)
    xv, mv = tiles(120, g)
    net = TinyUNet()
    opt = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    for epoch in range(args.epochs):
        net.train()
        seen = 0.0
        opt.zero_grad()
        for k, idx in enumerate(torch.randperm(len(x), generator=g).split(args.micro)):
            loss = F.binary_cross_entropy_with_logits(net(x[idx]), m[idx])
            opt.zero_grad()
            (loss / args.accum).backward()
            if (k + 1) % args.accum == 0:
                opt.step()
            seen += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            out = net(xv)
            val = F.binary_cross_entropy_with_logits(out, mv).item()
        print(f"epoch {epoch} train {seen / len(x):.4f} val {val:.4f} IoU {iou(out, mv):.3f}")


if __name__ == "__main__":
    main(parse())
