"""Card fraud (3 % positives) with a WeightedRandomSampler; validation keeps the natural rate."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def transactions(n, rng, rate=0.03):
    y = (rng.random(n) < rate).astype(np.float32)
    x = rng.normal(0, 1, (n, 10))
    x[:, 0] += 1.2 * y
    x[:, 1] *= 1 + 1.0 * y
    x[:, 2] += 0.8 * y * np.sign(x[:, 3])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def average_precision(score, y):
    order = score.argsort(descending=True)
    hits = y[order].cumsum(0)
    prec = hits / torch.arange(1, len(y) + 1)
    return (prec * y[order]).sum().item() / y.sum().item()


class FraudNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return self.f(x).squeeze(1)


def main(epochs=8):
    torch.set_num_threads(1)
    torch.manual_seed(97)
    rng = np.random.default_rng(97)
    x, y = transactions(6000, rng)
    xv, yv = transactions(3000, rng)
    counts = torch.bincount(y.long())
    weights = (1.0 / counts)[y.long()]
    sampler = WeightedRandomSampler(weights, num_samples=3000, replacement=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=60, sampler=sampler)
    net = FraudNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    bce = nn.BCEWithLogitsLoss()
    prior_shift = torch.log(counts[1] / counts[0])  # undo the resampling when reporting probabilities
    for epoch in range(epochs):
        net.train()
        tot = pos = 0.0
        for xb, yb in loader:
            loss = bce(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(yb)
            pos += yb.sum().item()
        net.eval()
        with torch.no_grad():
            logit = net(xv) + prior_shift
        print(f"epoch {epoch} balanced loss {tot / 3000:.4f} (positives drawn {pos / 3000:.2f}) "
              f"val AP {average_precision(logit, yv):.3f} val bce {bce(logit, yv).item():.4f} rate {yv.mean().item():.3f}")


if __name__ == "__main__":
    main()
