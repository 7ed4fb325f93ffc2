"""Log-permeability of a borehole section from pressure (kPa), depth (m) and flow series."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sections(n, seed):
    rng = np.random.default_rng(seed)
    depth = rng.uniform(800, 3200, n)
    perm = rng.normal(size=n)
    t = np.arange(16)[None]
    rate = 1 / (1 + np.exp(-0.8 * perm))[:, None]
    pressure = 10.2 * depth[:, None] - 3000 * (1 - np.exp(-rate * t / 4)) + rng.normal(0, 60, (n, 16))
    flow = 40000 * rate * np.exp(-t / 9) + rng.normal(0, 1500, (n, 16))
    series = np.stack([pressure, np.broadcast_to(depth[:, None], (n, 16)), flow], 2)
    return series.astype(np.float32), perm.astype(np.float32)[:, None]


class Scaler:
    def __init__(self, ref):
        self.mean = ref.mean((0, 1), keepdims=True)
        self.std = ref.std((0, 1), keepdims=True)

    def __call__(self, x):
        return (x - self.mean) / self.std


class BoreNet(nn.Module):
    def __init__(self, c=3, h=32):
        super().__init__()
        self.rnn = nn.GRU(c, h, batch_first=True)
        self.out = nn.Sequential(nn.Linear(h, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.out(self.rnn(x)[1][-1])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    xt, yt = sections(1200, 0)
    xv, yv = sections(300, 1)
    scale = Scaler(xt)
    train = TensorDataset(torch.from_numpy(scale(xt)), torch.from_numpy(yt))
    xv, yv = torch.from_numpy(scale(xv)), torch.from_numpy(yv)
    loader = DataLoader(train, batch_size=40, shuffle=True)
    net, crit = BoreNet(), nn.MSELoss()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    for epoch in range(10):
        net.train()
        tot = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = crit(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            opt.step()
            tot += loss.item()
        net.eval()
        with torch.no_grad():
            v = crit(net(xv), yv).item()
        print(f"[{epoch:02d}] train mse {tot / len(loader):.4f}  val mse {v:.4f}  R2 {1 - v / yv.var().item():.3f}")


if __name__ == "__main__":
    main()
