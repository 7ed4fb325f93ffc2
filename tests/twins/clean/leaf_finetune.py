"""Leaf silhouettes: reuse a CNN fitted on six common trees for three rare ones (backbone frozen)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class LeafBackbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
            nn.AdaptiveMaxPool2d(2), nn.Flatten())

    def forward(self, x):
        return self.body(x)


class LeafClassifier(nn.Module):
    def __init__(self, n_classes, freeze=False):
        super().__init__()
        self.backbone = LeafBackbone()
        self.head = nn.Linear(64, n_classes)
        self.freeze = freeze

    def train(self, mode=True):
        super().train(mode)
        if self.freeze:
            self.backbone.eval()
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


def silhouettes(n, classes, seed, size=12):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(classes), (n,), generator=g)
    k = torch.tensor(classes)[y].float()[:, None, None]
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    ang, rad = torch.atan2(yy, xx)[None], (xx ** 2 + yy ** 2).sqrt()[None]
    rot = 6.28 * torch.rand(n, 1, 1, generator=g)
    depth = torch.where(k < 5, 0.3, 0.2)
    edge = 0.65 + depth * torch.sin((k % 5 + 1) * ang + rot)
    img = torch.sigmoid((edge - rad) * 8) + 0.08 * torch.randn(n, size, size, generator=g)
    return img.unsqueeze(1), y


def run_epoch(model, opt, x, y, bs=40):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(bs):
        opt.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(41)
    source = LeafClassifier(6)
    opt = torch.optim.Adam(source.parameters(), lr=1e-2)
    x, y = silhouettes(1000, [0, 1, 2, 3, 4, 5], 1)
    for ep in range(6):
        print(f"source epoch {ep} loss {run_epoch(source, opt, x, y):.4f}")

    model = LeafClassifier(3, freeze=True)
    model.backbone.load_state_dict(source.backbone.state_dict())
    model.backbone.requires_grad_(False)
    opt = torch.optim.Adam(model.parameters(), lr=2e-2)
    x, y = silhouettes(300, [6, 7, 8], 2)
    xv, yv = silhouettes(300, [6, 7, 8], 3)
    for ep in range(12):
        loss = run_epoch(model, opt, x, y)
        print(f"rare-tree epoch {ep} loss {loss:.4f} val acc {accuracy(model, xv, yv):.3f}")
