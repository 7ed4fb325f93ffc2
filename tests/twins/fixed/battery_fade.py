"""Capacity fade of lithium cells: a network maps the usage profile to the constants of a fade law."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CYCLES = torch.linspace(0.05, 1.0, 16)


class FadeLaw(nn.Module):
    def __init__(self, n_usage=5, width=32):
        super().__init__()
        self.constants = nn.Sequential(nn.Linear(n_usage, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                       nn.Linear(width, 2))
        self.start = nn.Parameter(torch.zeros(1))
        self.ripple = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))

    def curve(self, rate, knee):
        rate = nn.functional.softplus(rate)[:, None]
        knee = 0.5 + 2 * torch.sigmoid(knee)[:, None]
        return -rate * CYCLES[None] ** knee

    def forward(self, usage):
        raw = self.constants(usage)
        rate, knee = raw[:, 0], raw[:, 1]
        smooth = self.curve(rate, knee)
        return self.start + smooth + self.ripple(CYCLES[:, None]).T


def cells(n):
    u = torch.randn(n, 5)
    rate = torch.exp(0.4 * u[:, 0] + 0.4 * torch.tanh(u[:, 1] * u[:, 2]))[:, None]
    knee = 0.5 + 2 * torch.sigmoid(u[:, 3] + 0.5 * u[:, 4])[:, None]
    cap = 1.0 - rate * CYCLES[None] ** knee + 0.05 * torch.sin(9 * CYCLES)[None]
    return TensorDataset(u, cap + 0.03 * torch.randn_like(cap))


def validate(model, loader, loss_fn):
    model.eval()
    total = count = 0
    with torch.no_grad():
        for u, c in loader:
            total += loss_fn(model(u), c).item() * len(u)
            count += len(u)
    return total / count


def main():
    torch.set_num_threads(1)
    torch.manual_seed(52)
    train = DataLoader(cells(2000), batch_size=50, shuffle=True)
    valid = DataLoader(cells(400), batch_size=200)
    model = FadeLaw()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    loss_fn = nn.SmoothL1Loss(beta=0.2)
    for epoch in range(1, 13):
        model.train()
        running = 0.0
        for usage, capacity in train:
            optimizer.zero_grad()
            loss = loss_fn(model(usage), capacity)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch:2d}: train {running / len(train):.5f}, valid {validate(model, valid, loss_fn):.5f}")


if __name__ == "__main__":
    main()
