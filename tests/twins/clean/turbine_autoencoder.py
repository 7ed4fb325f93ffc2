"""Vibration anomaly detector: autoencoder on healthy spectra (the target is the input)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def spectra(n, rng, fault=False):
    f = np.arange(64)
    speed = rng.uniform(8, 12, (n, 1))
    load = rng.uniform(0.5, 1.5, (n, 1))
    s = sum(load / k * np.exp(-((f - k * speed) / 1.5) ** 2) for k in (1, 2, 3))
    if fault:
        s = s + 0.8 * np.exp(-((f - 2.6 * speed) / 1.2) ** 2)
    return torch.tensor(s + rng.normal(0, 0.05, (n, 64)), dtype=torch.float32)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 4))
        self.decoder = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


def errors(model, x):
    model.eval()
    with torch.no_grad():
        return (model(x) - x).pow(2).mean(1)


def auroc(neg, pos):
    return (pos[:, None] > neg[None]).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    rng = np.random.default_rng(6)
    loader = DataLoader(spectra(2400, rng), batch_size=60, shuffle=True)
    healthy, faulty = spectra(300, rng), spectra(300, rng, fault=True)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(12):
        model.train()
        batch_losses = []
        for x in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), x)
            loss.backward()
            optimizer.step()
            batch_losses.append(loss.item())
        e_h, e_f = errors(model, healthy), errors(model, faulty)
        print(f"epoch {epoch:2d} loss {np.mean(batch_losses):.5f} healthy err {e_h.mean().item():.5f} "
              f"fault err {e_f.mean().item():.5f} AUROC {auroc(e_h, e_f):.3f}")


if __name__ == "__main__":
    main()
