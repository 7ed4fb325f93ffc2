"""Tasting-panel score of a cheese from lab measurements."""
import numpy as np
import torch
from torch import nn


class PanelNet(nn.Module):
    def __init__(self, n_in, hidden=(40, 40)):
        super().__init__()
        sizes = (n_in, *hidden)
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.score = nn.Linear(sizes[-1], 1)
        self.reset_parameters()

    def reset_parameters(self):
        for layer in (*self.hidden, self.score):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.score(x)


def lab_sheet(rng, n):
    x = rng.standard_normal((n, 8))
    y = np.tanh(x[:, 0] + x[:, 1]) + 0.6 * x[:, 2] - 0.4 * x[:, 3] * x[:, 4] + 0.3 * np.cos(2 * x[:, 5])
    y = y + 0.1 * rng.standard_normal(n)
    return (torch.as_tensor(a, dtype=torch.float32) for a in (x, y[:, None]))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(66)
    rng = np.random.default_rng(66)
    x, y = lab_sheet(rng, 2400)
    xv, yv = lab_sheet(rng, 400)
    mean, std = y.mean(), y.std()
    y, yv = (y - mean) / std, (yv - mean) / std
    net = PanelNet(8)
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12, eta_min=2e-4)
    for epoch in range(12):
        net.train()
        acc = []
        for rows in np.array_split(rng.permutation(len(x)), 40):
            rows = torch.from_numpy(rows)
            loss = nn.functional.mse_loss(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc.append(loss.item())
        plan.step()
        net.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(net(xv), yv).item()
        print(f"epoch {epoch + 1:2d}: train mse {np.mean(acc):.4f}, val mse {val:.4f}")


if __name__ == "__main__":
    main()
