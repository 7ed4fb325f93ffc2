"""Pain grade 0..4 from physiology: cumulative-link (ordinal) regression with ordered thresholds."""
import torch
import torch.nn as nn

GRADES = 5


class CumulativeLink(nn.Module):
    """P(y > k) = sigmoid(score - threshold_k); thresholds are kept ordered by positive increments."""

    def __init__(self, d):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, 1))
        self.first = nn.Parameter(torch.tensor(-1.5))
        self.gaps = nn.Parameter(torch.zeros(GRADES - 2))

    def thresholds(self):
        return self.first + torch.cat([torch.zeros(1), nn.functional.softplus(self.gaps).cumsum(0)])

    def forward(self, x):
        return self.score(x) - self.thresholds()


def levels(y):
    return (y[:, None] > torch.arange(GRADES - 1)).float()


def patients(n, g):
    x = torch.randn(n, 9, generator=g)
    latent = 1.5 * x[:, 0] - 1.0 * x[:, 1] + 0.8 * x[:, 2] * (x[:, 3] > 0) + 0.5 * torch.randn(n, generator=g)
    y = torch.bucketize(latent, torch.tensor([-2.0, -0.6, 0.7, 2.2]))
    return x, y


def main(epochs=12, bs=40):
    torch.set_num_threads(1)
    torch.manual_seed(52)
    g = torch.Generator().manual_seed(52)
    x, y = patients(1600, g)
    xv, yv = patients(500, g)
    model = CumulativeLink(9)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(bs):
            loss = bce(model(x[idx]), levels(y[idx]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        with torch.no_grad():
            grade = (model(xv) > 0).sum(1)
            th = ", ".join(f"{t:.2f}" for t in model.thresholds().tolist())
        print(f"epoch {epoch:2d} loss {tot / len(x):.4f} val MAE {(grade - yv).abs().float().mean().item():.3f} "
              f"exact {(grade == yv).float().mean().item():.3f} thresholds [{th}]")


if __name__ == "__main__":
    main()
