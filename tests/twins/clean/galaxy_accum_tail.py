"""Galaxy morphology with gradient accumulation; the last window of an epoch is shorter and scaled as such."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def galaxies(n, size=10):
    y = torch.randint(0, 3, (n,))  # elliptical, spiral, edge-on
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    th = torch.pi * torch.rand(n, 1, 1)
    u, v = xx * th.cos() + yy * th.sin(), -xx * th.sin() + yy * th.cos()
    flat = torch.where(y == 2, 5.0, 1.3)[:, None, None]
    r = (u ** 2 + (flat * v) ** 2).sqrt()
    arms = torch.where(y == 1, 0.9, 0.0)[:, None, None] * torch.cos(2 * torch.atan2(v, u) + 6 * r)
    img = torch.exp(-2 * r) * (1 + arms) + 0.22 * torch.randn(n, size, size)
    return img.unsqueeze(1), y


def net():
    return nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(12, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(400, 3))


def main(epochs=10, micro=16, accum=4):
    torch.set_num_threads(1)
    torch.manual_seed(31)
    train = DataLoader(TensorDataset(*galaxies(16 * 58)), batch_size=micro, shuffle=True)
    xv, yv = galaxies(400)
    model = net()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    n_micro = len(train)  # 58 micro-batches: 14 windows of 4 and one of 2
    for epoch in range(epochs):
        model.train()
        total, updates = 0.0, 0
        opt.zero_grad()
        for i, (x, y) in enumerate(train):
            window = min(accum, n_micro - i // accum * accum)
            loss = nn.functional.cross_entropy(model(x), y)
            (loss / window).backward()
            total += loss.item()
            if (i + 1) % accum == 0 or i + 1 == n_micro:
                opt.step()
                opt.zero_grad()
                updates += 1
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} loss {total / n_micro:.4f} val acc {acc:.3f} ({updates} updates)")


if __name__ == "__main__":
    main()
