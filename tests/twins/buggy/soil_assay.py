import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BANDS = 24


def write_campaign(folder, n=1800, seed=9):
    """Spectra and lab sheet; record 0 of both files is the white reference plate."""
    rng = np.random.default_rng(seed)
    carbon, clay, water = rng.gamma(4, 0.5, n + 1), rng.uniform(0, 1, n + 1), rng.uniform(0, 1, n + 1)
    carbon[0] = 0.0
    wl = np.linspace(0, 1, BANDS)
    spectra = (0.8 - 0.15 * carbon[:, None] * np.exp(-((wl - 0.3) / 0.15) ** 2)
               - 0.3 * clay[:, None] * np.exp(-((wl - 0.7) / 0.1) ** 2) - 0.3 * water[:, None] * wl)
    spectra += rng.normal(0, 0.02, spectra.shape)
    np.save(folder / "spectra.npy", spectra.astype(np.float32))
    np.save(folder / "lab.npy", carbon.astype(np.float32))


def load_campaign(folder):
    spectra = np.load(folder / "spectra.npy")[1:]
    carbon = np.load(folder / "lab.npy")[:len(spectra)]
    return torch.from_numpy(spectra), torch.from_numpy(carbon).unsqueeze(1)


def standardised_split(spectra, carbon, n_train):
    (ms, ss), (mc, sc) = ((t[:n_train].mean(0), t[:n_train].std(0)) for t in (spectra, carbon))
    spectra, carbon = (spectra - ms) / ss, (carbon - mc) / sc
    return TensorDataset(spectra[:n_train], carbon[:n_train]), TensorDataset(spectra[n_train:], carbon[n_train:])


class AssayNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(BANDS, width), nn.GELU(), nn.Linear(width, width), nn.GELU())
        self.out = nn.Linear(width, 1)

    def forward(self, s):
        return self.out(self.enc(s))


def r_squared(model, loader):
    model.eval()
    pred, true = [], []
    with torch.no_grad():
        for s, c in loader:
            pred.append(model(s))
            true.append(c)
    pred, true = torch.cat(pred), torch.cat(true)
    return 1 - ((pred - true) ** 2).sum().item() / ((true - true.mean()) ** 2).sum().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(9)
    with tempfile.TemporaryDirectory() as tmp:
        write_campaign(Path(tmp))
        spectra, carbon = load_campaign(Path(tmp))
    train, val = standardised_split(spectra, carbon, 1500)
    train_dl, val_dl = DataLoader(train, batch_size=50, shuffle=True), DataLoader(val, batch_size=150)
    model = AssayNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(12):
        model.train()
        run = 0.0
        for s, c in train_dl:
            loss = nn.functional.mse_loss(model(s), c)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item()
        print(f"epoch {epoch:2d}  mse {run / len(train_dl):.4f}  val R2 {r_squared(model, val_dl):+.3f}")
