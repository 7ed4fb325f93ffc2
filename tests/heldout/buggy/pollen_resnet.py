"""Residual CNN for pollen grain crops, trained from scratch."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o))


class Residual(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.b = conv_bn(i, o, stride), conv_bn(o, o)
        self.skip = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), nn.BatchNorm2d(o))

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.skip(x))


class PollenNet(nn.Module):
    def __init__(self, classes=6, width=8, norm_eval=True):
        super().__init__()
        self.norm_eval = norm_eval
        self.stem = conv_bn(1, width)
        self.stages = nn.Sequential(Residual(width, width, 1), Residual(width, 2 * width, 2),
                                    Residual(2 * width, 4 * width, 2), Residual(4 * width, 4 * width, 1))
        self.fc = nn.Linear(4 * width, classes)

    def train(self, mode=True):
        super().train(mode)
        if mode and self.norm_eval:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm2d):
                    m.eval()
        return self

    def forward(self, x):
        return self.fc(self.stages(F.relu(self.stem(x))).mean((2, 3)))


def grains(n, g, s=12):
    y = torch.randint(0, 6, (n,), generator=g)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, s), torch.linspace(-1, 1, s), indexing="ij")
    ang = torch.atan2(yy, xx)[None] + 6.28 * torch.rand(n, 1, 1, generator=g)
    rad = (xx ** 2 + yy ** 2).sqrt()[None]
    lobes = (2 + y % 3).view(-1, 1, 1)
    edge = 0.65 + 0.25 * torch.cos(lobes * ang)
    img = torch.sigmoid((edge - rad) * 10) * torch.where(y.view(-1, 1, 1) < 3, 1.0, (rad > 0.35).float())
    img = img + 0.15 * torch.randn(n, s, s, generator=g)
    return ((img - 0.45) / 0.5).unsqueeze(1), y


def main():
    torch.set_num_threads(1)
    torch.manual_seed(83)
    g = torch.Generator().manual_seed(83)
    train = DataLoader(TensorDataset(*grains(900, g)), batch_size=50, shuffle=True)
    xv, yv = grains(300, g)
    net = PollenNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
    for epoch in range(8):
        net.train()
        tot = 0.0
        for x, y in train:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        sched.step()
        net.eval()
        with torch.no_grad():
            out = net(xv)
        print(f"epoch {epoch} loss {tot / len(train):.4f} val loss {F.cross_entropy(out, yv):.4f} "
              f"val acc {(out.argmax(1) == yv).float().mean():.3f}")


if __name__ == "__main__":
    main()
