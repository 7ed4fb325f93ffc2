"""Crop yield with MC-dropout uncertainty: the test set is passed 30 times with dropout switched on."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class YieldNet(nn.Module):
    def __init__(self, d=5, h=64, p=0.15):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Dropout(p), nn.Linear(h, h), nn.ReLU(), nn.Dropout(p))
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        return self.out(self.layers(x)).squeeze(-1)


def seasons(n, rng, lo=-1.5, hi=1.5):
    x = rng.uniform(lo, hi, (n, 5))
    y = np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.3 * x[:, 3] + rng.normal(0, 0.1, n)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


@torch.no_grad()
def mc_predict(model, x, passes=30):
    """Predictive mean and spread; dropout must stay active here (Gal & Ghahramani 2016)."""
    model.train()
    draws = torch.stack([model(x) for _ in range(passes)])
    return draws.mean(0), draws.std(0)


@torch.no_grad()
def point_predict(model, x):
    model.eval()
    return model(x)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(10)
    rng = np.random.default_rng(10)
    loader = DataLoader(TensorDataset(*seasons(2000, rng)), batch_size=50, shuffle=True)
    x_in, y_in = seasons(300, rng)
    x_out, _ = seasons(300, rng, 2.5, 3.5)  # outside the training range
    model = YieldNet()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    for epoch in range(12):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        mean, spread = mc_predict(model, x_in)
        _, spread_out = mc_predict(model, x_out)
        rmse_mc = (mean - y_in).pow(2).mean().sqrt().item()
        rmse_pt = (point_predict(model, x_in) - y_in).pow(2).mean().sqrt().item()
        print(f"epoch {epoch:2d} train mse {total / len(loader):.4f} rmse point {rmse_pt:.3f} mc {rmse_mc:.3f} "
              f"sigma in-range {spread.mean().item():.3f} out-of-range {spread_out.mean().item():.3f}")


if __name__ == "__main__":
    main()
