"""Ceramic tile grades with sharpness-aware minimisation (two backward passes per update)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class SAM:
    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho
        self.shift = []

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm().clamp_min(1e-12)
        self.shift = [self.rho * p.grad / norm for p in self.params]
        for p, e in zip(self.params, self.shift):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.shift):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


class TileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 10, 3, padding=1), nn.Conv2d(10, 20, 3, padding=1)
        self.norm = nn.GroupNorm(4, 20)
        self.fc = nn.Linear(80, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.relu(self.norm(self.c2(x)))
        return self.fc(F.adaptive_avg_pool2d(x, 2).flatten(1))


def tiles(n=1000, s=12):
    y = torch.randint(0, 5, (n,))
    yy, xx = torch.meshgrid(torch.arange(s).float(), torch.arange(s).float(), indexing="ij")
    period = torch.tensor([2.0, 3.0, 4.0, 3.0, 4.0])[y].view(-1, 1, 1)
    along = torch.where((y < 3).view(-1, 1, 1), xx, yy)
    phase = 6.28 * torch.rand(n, 1, 1)
    img = torch.sin(6.283 * along / period + phase) + 0.6 * torch.randn(n, s, s)
    return TensorDataset((img / 0.9).unsqueeze(1), y)


def main(epochs=9):
    torch.set_num_threads(1)
    torch.manual_seed(206)
    train, val = random_split(tiles(), [800, 200])
    loader, vloader = DataLoader(train, batch_size=40, shuffle=True), DataLoader(val, batch_size=200)
    net = TileNet()
    base = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    sam = SAM(net.parameters(), base)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(base, epochs, eta_min=1e-3)
    for epoch in range(epochs):
        net.train()
        tot = 0.0
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            sam.climb()
            F.cross_entropy(net(x), y).backward()
            sam.descend()
            tot += loss.item()
        sched.step()
        net.eval()
        with torch.no_grad():
            acc = sum((net(x).argmax(1) == y).sum().item() for x, y in vloader) / len(val)
        print(f"epoch {epoch} loss {tot / len(loader):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
