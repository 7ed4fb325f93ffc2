"""Defect patterns on wafer maps (centre, edge ring, scratch, random)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 12


def maps(n, gen):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    r = (xx ** 2 + yy ** 2).sqrt()[None]
    y = torch.randint(0, 4, (n,), generator=gen)
    ang = torch.rand(n, 1, 1, generator=gen) * 3.1416
    off = 0.4 * (torch.rand(n, 1, 1, generator=gen) - 0.5)
    line = (torch.cos(ang) * xx + torch.sin(ang) * yy - off).abs()
    rate = torch.where(y[:, None, None] == 0, (r < 0.45).float(), torch.zeros(n, SIDE, SIDE))
    rate = torch.where(y[:, None, None] == 1, (r > 0.85).float(), rate)
    rate = torch.where(y[:, None, None] == 2, (line < 0.12).float(), rate)
    rate = torch.where(y[:, None, None] == 3, torch.full_like(rate, 0.25), rate)
    fail = torch.rand(n, SIDE, SIDE, generator=gen) < 0.15 + 0.35 * rate
    return (fail.float()[:, None] - 0.25) / 0.43, y


class WaferNet(nn.Module):
    def __init__(self, p=0.5):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.fc1, self.fc2 = nn.Linear(16 * 9, 160), nn.Linear(160, 4)
        self.p = nn.Dropout(p)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.p(x.flatten(1))
        return self.fc2(self.p(F.relu(self.fc1(x))))


def validate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def fit(model, train, valid, epochs, gen):
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    x, y = train
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x), generator=gen).split(20):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        vl, va = validate(model, *valid)
        print(f"epoch {epoch:2d} train {total / len(x):.4f} val {vl:.4f} acc {va:.3f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(221)
    g = torch.Generator().manual_seed(221)
    fit(WaferNet(), maps(320, g), maps(800, g), epochs=15, gen=g)
