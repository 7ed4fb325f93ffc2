import torch
import torch.nn as nn


def quotes(n, gen):
    """Charter quotes in dollars from tonnage, distance, season, fuel index and crew."""
    z = torch.randn(n, 5, generator=gen)
    usd = 240_000 + 60_000 * z[:, 0] + 45_000 * z[:, 1] * torch.sigmoid(z[:, 2]) - 20_000 * z[:, 3] ** 2
    return z, usd + 4_000 * torch.randn(n, generator=gen)


class Scaler:
    def __init__(self, values):
        self.mean, self.std = values.mean(), values.std()

    def encode(self, values):
        return (values - self.mean) / self.std

    def decode(self, values):
        return values * self.std + self.mean


class QuoteModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, z):
        return self.trunk(z).squeeze(-1)


def fit(model, z, usd, zv, usdv, scaler, gen, epochs=12, bs=64):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    goal = scaler.encode(usd)
    for epoch in range(epochs):
        model.train()
        acc = 0.0
        for rows in torch.randperm(len(z), generator=gen).split(bs):
            loss = nn.functional.mse_loss(model(z[rows]), goal[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            acc += loss.item() * len(rows)
        model.eval()
        with torch.no_grad():
            quote = scaler.decode(model(zv))
        mape = ((quote - usdv).abs() / usdv.abs().clamp_min(1e4)).median().item()
        print(f"epoch {epoch:02d} loss {acc / len(z):.5g} median rel. error {100 * mape:.1f}%")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(88)
    gen = torch.Generator().manual_seed(88)
    z, usd = quotes(2560, gen)
    zv, usdv = quotes(500, gen)
    fit(QuoteModel(), z, usd, zv, usdv, Scaler(usd), gen)


if __name__ == "__main__":
    main()
