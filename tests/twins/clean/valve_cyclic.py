"""Valve wear stage from pressure features, triangular cyclic learning rate."""
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class ValveCycles(Dataset):
    STAGES = 4

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.stage = rng.integers(0, self.STAGES, n)
        load = rng.uniform(0.5, 1.5, n)
        leak = 0.15 * self.stage + rng.normal(0, 0.05, n)
        t = np.linspace(0, 1, 30)
        curve = load[:, None] * (1 - np.exp(-t / 0.15)) * np.exp(-leak[:, None] * t)
        ripple = 0.05 * self.stage[:, None] * np.sin(2 * np.pi * (5 + load[:, None]) * t)
        x = curve + ripple + rng.normal(0, 0.03, (n, 30))
        self.x = torch.tensor((x - 0.75) / 0.3, dtype=torch.float32)
        self.y = torch.tensor(self.stage)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build():
    return nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, ValveCycles.STAGES))


def score(model, loader):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x).argmax(1), y) for x, y in loader]
    pred, y = (torch.cat(c) for c in zip(*pairs))
    return (pred == y).float().mean().item()


def main(epochs=10):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    train = DataLoader(ValveCycles(1800, 0), batch_size=45, shuffle=True)
    val = DataLoader(ValveCycles(500, 1), batch_size=250)
    model = build()
    opt = optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    sched = optim.lr_scheduler.CyclicLR(opt, base_lr=0.002, max_lr=0.08, step_size_up=2 * len(train), mode="triangular2")
    ce = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        model.train()
        acc_loss = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = ce(model(x), y)
            loss.backward()
            opt.step()
            sched.step()
            acc_loss += loss.item() * len(y)
        print(f"[{epoch:02d}] loss {acc_loss / len(train.dataset):.4f} val acc {score(model, val):.3f} lr {sched.get_last_lr()[0]:.4f}")


if __name__ == "__main__":
    main()
