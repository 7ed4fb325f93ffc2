"""Thermal camera frames arrive as uint8 0..255; the network does its own scaling."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ThermalNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(10, 20, 3, stride=2, padding=1)
        self.fc = nn.Linear(20 * 9, n_classes)

    def forward(self, frames):
        x = frames.float() / 255.0
        x = (x - 0.4) / 0.25
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def frames(n, size=12):
    """Hot spot pattern: none, centre, ring or stripe over an ambient gradient."""
    y = torch.randint(0, 4, (n,))
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    r = (xx ** 2 + yy ** 2).sqrt()
    base = torch.stack([torch.zeros(size, size), torch.exp(-6 * r ** 2), torch.exp(-20 * (r - 0.6) ** 2),
                        torch.exp(-15 * xx ** 2)])
    ambient = 60 + 60 * torch.rand(n, 1, 1) + 15 * torch.randn(n, 1, 1) * xx
    img = ambient + (60 + 50 * torch.rand(n, 1, 1)) * base[y] + 25 * torch.randn(n, size, size)
    return img.clamp(0, 255).round().to(torch.uint8).unsqueeze(1), y


def main():
    torch.set_num_threads(1)
    torch.manual_seed(255)
    train = DataLoader(TensorDataset(*frames(1600)), batch_size=40, shuffle=True)
    xv, yv = frames(400)
    net = ThermalNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    crit = nn.CrossEntropyLoss()
    print(f"input dtype {xv.dtype}, range {xv.min().item()}..{xv.max().item()}")
    for epoch in range(10):
        net.train()
        losses = 0.0
        for x, y in train:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            opt.step()
            losses += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(xv)
        print(f"epoch {epoch} loss {losses / len(train):.4f} val {crit(out, yv).item():.4f} "
              f"acc {(out.argmax(1) == yv).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
