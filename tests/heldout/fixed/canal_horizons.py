import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class WaterLevels(Dataset):
    """Windows of 24 hourly readings with the level at several hours ahead."""

    def __init__(self, hours, horizons, seed, window=24):
        rng = np.random.default_rng(seed)
        t = np.arange(hours + window + max(horizons))
        period = 12.4 + 0.6 * np.sin(t / 170)
        phase = np.cumsum(2 * np.pi / period)
        amp = 1.0 + 0.5 * np.sin(t / 90 + rng.uniform(0, 6))
        level = amp * np.sin(phase) + 0.4 * np.sin(2 * phase) + 0.05 * rng.normal(size=len(t))
        level = (level / 0.85).astype(np.float32)
        self.x = np.stack([level[i:i + window] for i in range(hours)])
        self.y = np.stack([[level[i + window - 1 + h] for h in horizons] for i in range(hours)])

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i][:, None], self.y[i]


class HorizonModel(nn.Module):
    def __init__(self, horizons, hidden=24, code=4):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.code = nn.Sequential(nn.Linear(hidden, code), nn.Tanh())
        self.readouts = nn.ModuleList(
            nn.Sequential(nn.Linear(code, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in horizons)

    def forward(self, x):
        _, h = self.gru(x)
        z = self.code(h[-1])
        return torch.cat([r(z) for r in self.readouts], dim=1)


class Forecaster:
    def __init__(self, horizons=(1, 3, 6, 9, 12, 18), lr=5e-3):
        self.horizons = horizons
        self.model = HorizonModel(horizons)
        self.optim = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()

    def fit_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optim.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optim.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        err = torch.cat([(self.model(x) - y).pow(2) for x, y in loader])
        return err.mean(0)


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(5)
    f = Forecaster()
    train = DataLoader(WaterLevels(1200, f.horizons, 1), batch_size=40, shuffle=True)
    valid = DataLoader(WaterLevels(300, f.horizons, 2), batch_size=100)
    for epoch in range(1, 11):
        loss = f.fit_epoch(train)
        mse = f.score(valid)
        print(f"epoch {epoch:2d} train {loss:.4f} valid {mse.mean():.4f} | "
              + " ".join(f"+{h}h {m:.3f}" for h, m in zip(f.horizons, mse)))
