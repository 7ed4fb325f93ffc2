"""Next-hour traffic flow, GRU, heavy-tailed incident spikes: gradient norm clipped at 1.0 and often active."""
import numpy as np
import torch
import torch.nn as nn


def flows(n, rng, hours=24):
    t = np.arange(hours + 1)
    start = rng.integers(0, 24, (n, 1))
    base = 1.0 + np.sin(2 * np.pi * (t + start) / 24) + 0.5 * np.sin(4 * np.pi * (t + start) / 24)
    level = rng.lognormal(0, 0.5, (n, 1))
    incident = (rng.random((n, hours + 1)) < 0.02) * rng.standard_t(3, (n, hours + 1)) * 2
    series = level * base + incident + rng.normal(0, 0.1, (n, hours + 1))
    s = torch.tensor(series, dtype=torch.float32)
    return s[:, :-1].unsqueeze(-1), s[:, -1:]


class FlowGRU(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.gru = nn.GRU(1, h, batch_first=True)
        self.head = nn.Linear(h, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(out[:, -1])


def main(epochs=8, max_norm=1.0):
    torch.set_num_threads(1)
    torch.manual_seed(19)
    rng = np.random.default_rng(19)
    x, y = flows(1200, rng)
    xv, yv = flows(300, rng)
    model = FlowGRU()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(epochs):
        clipped, tot = 0, 0.0
        order = torch.from_numpy(rng.permutation(len(x)))
        for idx in order.split(40):
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            clipped += int(norm > max_norm)
            opt.step()
            tot += loss.item()
        with torch.no_grad():
            mae = (model(xv) - yv).abs().mean().item()
        print(f"epoch {epoch} train mse {tot / 30:.4f} val mae {mae:.4f} clipped {clipped}/30")


if __name__ == "__main__":
    main()
