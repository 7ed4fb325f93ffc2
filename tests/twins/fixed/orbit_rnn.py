"""Next-position prediction for perturbed circular orbits with a hand-written recurrent cell."""
import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, d_in, d_hid, gain):
        super().__init__()
        self.inp = nn.Linear(d_in, d_hid)
        self.rec = nn.Linear(d_hid, d_hid, bias=False)
        nn.init.orthogonal_(self.rec.weight, gain=gain)

    def forward(self, x, h):
        return torch.relu(self.inp(x) + self.rec(h))


class OrbitModel(nn.Module):
    def __init__(self, d_hid=32, gain=1.0):
        super().__init__()
        self.cell = Cell(2, d_hid, gain)
        self.read = nn.Linear(d_hid, 2)

    def forward(self, seq):
        h = seq.new_zeros(seq.size(0), self.read.in_features)
        for t in range(seq.size(1)):
            h = self.cell(seq[:, t], h)
        return self.read(h)


def orbits(n, steps, gen):
    omega = 0.2 + 0.3 * torch.rand(n, 1, generator=gen)
    phase = 6.283 * torch.rand(n, 1, generator=gen)
    radius = 0.6 + 0.6 * torch.rand(n, 1, generator=gen)
    angle = phase + omega * torch.arange(steps + 1).float()
    track = torch.stack([radius * angle.cos(), radius * angle.sin()], -1)
    track = track + 0.02 * torch.randn(track.shape, generator=gen)
    return track[:, :-1], track[:, -1]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(83)
    gen = torch.Generator().manual_seed(83)
    x, y = orbits(1500, 20, gen)
    xv, yv = orbits(300, 20, gen)
    model = OrbitModel()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(10):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(x), generator=gen).split(50):
            loss = nn.functional.mse_loss(model(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(xv), yv).item()
        print(f"epoch {epoch:2d} | mse {total / len(x):.5g} | val {val:.5g}")


if __name__ == "__main__":
    main()
