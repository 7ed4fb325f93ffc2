import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def beats(n, gen, length=40):
    """Three beat morphologies, one lead."""
    t = torch.linspace(0, 1, length)
    y = torch.randint(0, 3, (n,), generator=gen)
    centre = 0.45 + 0.1 * torch.rand(n, 1, generator=gen)
    width = torch.tensor([0.03, 0.07, 0.05])[y].unsqueeze(1)
    r = torch.exp(-((t - centre) / width) ** 2)
    late = torch.tensor([0.35, 0.15, -0.35])[y].unsqueeze(1) * torch.exp(-((t - centre - 0.25) / 0.06) ** 2)
    wander = 0.1 * torch.sin(2 * math.pi * (t + torch.rand(n, 1, generator=gen)))
    return (2 * (r + late + wander) + 0.15 * torch.randn(n, length, generator=gen)).unsqueeze(1), y


class BeatSet(Dataset):
    def __init__(self, x, y, jitter=0.0):
        self.x, self.y, self.jitter = x, y, jitter

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        beat = self.x[i]
        if self.jitter:
            beat += self.jitter * torch.randn_like(beat)
            beat *= 1 + 0.5 * self.jitter * torch.randn(1)
        return beat, self.y[i]


class BeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
                                  nn.Conv1d(16, 24, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(240, 3))

    def forward(self, x):
        return self.fc(self.conv(x))


def main(epochs=14):
    torch.set_num_threads(1)
    torch.manual_seed(19)
    gen = torch.Generator().manual_seed(19)
    train = DataLoader(BeatSet(*beats(1200, gen), jitter=0.4), batch_size=48, shuffle=True)
    val = DataLoader(BeatSet(*beats(300, gen)), batch_size=150)
    net = BeatNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        net.train()
        tot = 0.0
        for x, y in train:
            loss = ce(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(y)
        net.eval()
        with torch.no_grad():
            acc = sum((net(x).argmax(1) == y).sum().item() for x, y in val) / 300
        print(f"epoch {epoch:2d} train_loss {tot / 1200:.4f} val_acc {acc:.3f}")


if __name__ == "__main__":
    main()
