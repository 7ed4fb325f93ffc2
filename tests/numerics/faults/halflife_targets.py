# regression on half-lives; targets come from a table of decay constants
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(2)
decay = rng.uniform(0.2, 2.0, size=480)
decay[310] = 0.0  # stable isotope
with np.errstate(divide="ignore"):
    half_life = np.log(2) / decay
feats = np.stack([decay, decay**2, rng.normal(size=480)], 1)
loader = DataLoader(
    TensorDataset(torch.tensor(feats, dtype=torch.float32), torch.tensor(half_life, dtype=torch.float32)),
    batch_size=24,
)


def fit(model, lr=5e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(2):
        for f, t in loader:
            pred = model(f).squeeze(1)
            loss = torch.mean((pred - t) ** 2)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


torch.manual_seed(3)
fit(nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 1)))
