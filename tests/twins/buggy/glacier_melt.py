"""Daily melt of mountain glaciers: one shared trunk, one read-out network per climate region."""
import numpy as np
import torch
import torch.nn as nn

REGIONS = ["alps", "andes", "himalaya", "svalbard"]
COEF = {"alps": (1.2, -0.4), "andes": (-0.9, 0.8), "himalaya": (0.3, 1.3), "svalbard": (-0.5, -1.1)}


class MeltModel(nn.Module):
    def __init__(self, n_in=6, trunk=10, width=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, trunk), nn.Tanh())
        self.readout = {
            name: nn.Sequential(nn.Linear(trunk, width), nn.ReLU(), nn.Linear(width, 1))
            for name in REGIONS
        }

    def forward(self, x, region):
        h = self.trunk(x)
        out = torch.zeros(len(x), 1)
        for k, name in enumerate(REGIONS):
            mask = region == k
            if mask.any():
                out = out.masked_scatter(mask[:, None], self.readout[name](h[mask]))
        return out.squeeze(1)


def observations(n, rng):
    x = rng.normal(size=(n, 6)).astype(np.float32)
    region = rng.integers(0, len(REGIONS), n)
    a = np.array([COEF[r][0] for r in REGIONS])[region]
    b = np.array([COEF[r][1] for r in REGIONS])[region]
    melt = a * x[:, 0] + b * np.tanh(x[:, 1] * x[:, 2]) + 0.5 * a * b * np.sin(2 * x[:, 3])
    melt = melt + rng.normal(0, 0.1, n)
    return torch.from_numpy(x), torch.from_numpy(region), torch.from_numpy(melt.astype(np.float32))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(11)
    rng = np.random.default_rng(11)
    x, r, y = observations(3000, rng)
    xv, rv, yv = observations(600, rng)
    model = MeltModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(12):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(60):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx], r[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            pred = model(xv, rv)
            val = loss_fn(pred, yv).item()
            r2 = 1 - val / yv.var().item()
        print(f"[{epoch:02d}] train mse {total / len(x):.4f}  val mse {val:.4f}  r2 {r2:.3f}")


if __name__ == "__main__":
    main()
