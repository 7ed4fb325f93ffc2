import torch
import torch.nn as nn


class QueueNet(nn.Module):
    """Forecast truck queue length at a port gate; also returns the last hidden layer."""

    def __init__(self, d_in, width=256):
        super().__init__()
        self.a = nn.Linear(d_in, width)
        self.b = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        hidden = torch.relu(self.b(torch.relu(self.a(x))))
        return self.out(hidden).squeeze(-1), hidden


class Meter:
    """Averages over the whole run, kept for the final report."""

    def __init__(self):
        self.total, self.steps = {}, 0

    def add(self, **values):
        for name, value in values.items():
            self.total[name] = self.total.get(name, 0.0) + value
        self.steps += 1

    def mean(self, name):
        return self.total[name] / self.steps


def gate_log(n, gen):
    x = torch.randn(n, 10, generator=gen)
    y = torch.relu(x[:, 0] + x[:, 1]) + 0.5 * x[:, 2] * x[:, 3] - 0.4 * torch.tanh(x[:, 4])
    y = y + 0.05 * torch.randn(n, generator=gen)
    return x, (y - 0.56) / 1.03


def main(epochs=8, bs=128):
    torch.set_num_threads(1)
    torch.manual_seed(99)
    gen = torch.Generator().manual_seed(99)
    x, y = gate_log(6400, gen)
    xv, yv = gate_log(800, gen)
    net = QueueNet(10)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    mse = nn.MSELoss()
    meter = Meter()
    for epoch in range(epochs):
        net.train()
        for rows in torch.randperm(len(x), generator=gen).split(bs):
            pred, hidden = net(x[rows])
            loss = mse(pred, y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            meter.add(loss=loss, activity=hidden.pow(2).mean())
        net.eval()
        with torch.no_grad():
            val = mse(net(xv)[0], yv).item()
        print(f"epoch {epoch} run-mean loss {meter.mean('loss'):.4f} activity {meter.mean('activity'):.3f} val {val:.4f}")


if __name__ == "__main__":
    main()
