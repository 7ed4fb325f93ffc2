"""Pump efficiency regression with a fixed probe set followed during training."""
import torch
import torch.nn as nn


def readings(n, gen):
    x = torch.rand(n, 6, generator=gen) * 2 - 1
    flow, head, temp = x[:, 0], x[:, 1], x[:, 2]
    eff = 1 - (flow - 0.3 * head) ** 2 - 0.4 * temp.abs() + 0.3 * x[:, 3] * x[:, 4]
    eff = eff + 0.05 * torch.randn(n, generator=gen)
    return x / 0.577, ((eff - 0.42) / 0.5).unsqueeze(1)


class PumpNet(nn.Module):
    def __init__(self, d=6, width=96, depth=3):
        super().__init__()
        layers = []
        for k in range(depth):
            layers += [nn.Linear(d if k == 0 else width, width), nn.SiLU()]
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x)


class ProbeMonitor:
    """Follows the error on the probe set, one value per optimisation step."""

    def __init__(self, x, y):
        self.x, self.y = x, y
        self.curve = []

    @torch.no_grad()
    def record(self, model):
        err = (model(self.x) - self.y).abs().mean()
        self.curve.append(err)

    def recent(self, k):
        tail = self.curve[-k:]
        return (sum(tail) / len(tail)).item()


def train(epochs=10, batch=50):
    torch.set_num_threads(1)
    torch.manual_seed(64)
    gen = torch.Generator().manual_seed(64)
    xt, yt = readings(2000, gen)
    xv, yv = readings(400, gen)
    monitor = ProbeMonitor(*readings(128, gen))
    model = PumpNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    loss_fn = nn.MSELoss()
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(xt), generator=gen).split(batch):
            loss = loss_fn(model(xt[idx]), yt[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
            monitor.record(model)
        model.eval()
        with torch.no_grad():
            val = loss_fn(model(xv), yv).item()
        print(f"epoch {epoch:2d} train {total / len(xt):.4f} val {val:.4f} probe {monitor.recent(40):.4f}")


if __name__ == "__main__":
    train()
