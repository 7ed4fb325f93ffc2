import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SelfCorrelation(nn.Module):
    """Compares every patch with every other one."""

    def __init__(self, channels, keep=16):
        super().__init__()
        self.reduce = nn.Conv2d(channels, 16, 1)
        self.keep = keep

    def forward(self, feats):
        f = nn.functional.normalize(self.reduce(feats).flatten(2), dim=1)
        corr = f.transpose(1, 2) @ f
        return corr.topk(self.keep, dim=-1).values.transpose(1, 2)


class ForgeryNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 24, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(24, 48, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.corr = SelfCorrelation(48)
        self.head = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        feats = self.backbone(x)
        scores = self.corr(feats)
        return self.head(scores.mean(-1)).squeeze(1)


def images(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 3, 32, 32, generator=g)
    y = torch.randint(0, 2, (n,), generator=g)
    for i in range(n):
        if y[i]:
            x[i, :, 18:28, 18:28] = x[i, :, 4:14, 4:14]
    return (x - 0.5) / 0.29, y.float()


def main():
    torch.manual_seed(7)
    train = DataLoader(TensorDataset(*images(192, 1)), batch_size=16, shuffle=True)
    val = DataLoader(TensorDataset(*images(64, 2)), batch_size=32)
    net = ForgeryNet()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss = loss_fn(net(x), y)
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            val_loss = sum(loss_fn(net(x), y).item() * len(y) for x, y in val) / 64
        print(f"epoch {epoch} val {val_loss:.4f}")


if __name__ == "__main__":
    main()
