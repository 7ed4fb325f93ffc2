"""Lane arrow recognition: left / right / slight-left / slight-right."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 16


def draw(kind, g):
    img = torch.zeros(SIZE, SIZE)
    bend = {0: -1.0, 1: 1.0, 2: -0.45, 3: 0.45}[kind]
    x0, y0 = 7.5 + 2 * (torch.rand(2, generator=g) - 0.5)
    for s in torch.linspace(0, 1, 20):
        stem = torch.stack([y0 + 5 - 6 * s, x0])
        arm = torch.stack([y0 - 1 - 4 * (1 - abs(bend)) * s, x0 + 6 * bend * s])
        for yy, xx in (stem, arm):
            img[int(yy.clamp(0, SIZE - 1)), int(xx.clamp(0, SIZE - 1))] = 1.0
    return img


class Arrows(Dataset):
    def __init__(self, n, seed, augment=None):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 4, (n,), generator=g)
        img = torch.stack([draw(int(k), g) for k in self.y])
        img = img + 0.45 * torch.randn(n, SIZE, SIZE, generator=g)
        self.x = ((img - 0.06) / 0.5).unsqueeze(1)
        self.augment = augment

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        x = self.x[i]
        return (self.augment(x) if self.augment else x), self.y[i]


class Augment:
    def __init__(self, shift=1, noise=0.1):
        self.shift, self.noise = shift, noise

    def __call__(self, x):
        dy, dx = torch.randint(-self.shift, self.shift + 1, (2,)).tolist()
        x = torch.roll(x, (dy, dx), (1, 2))
        return x + self.noise * torch.randn_like(x)


class ArrowNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Linear(2 * c * 16, 4)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(29)
    train = DataLoader(Arrows(600, 1, Augment()), batch_size=40, shuffle=True)
    val = Arrows(240, 2)
    net = ArrowNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(10):
        net.train()
        tot = 0.0
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(val.x)
        print(f"epoch {epoch} train {tot / len(train):.4f} val {F.cross_entropy(out, val.y):.4f} "
              f"acc {(out.argmax(1) == val.y).float().mean():.3f}")
