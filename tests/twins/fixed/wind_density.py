"""Heteroscedastic density model of hub-height wind given the mast readings."""
import torch
from torch import nn
from torch.distributions import Normal


class DensityNet(nn.Module):
    def __init__(self, d_in, width=40):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.mu = nn.Linear(width, 1)
        self.scale = nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return Normal(self.mu(h), nn.functional.softplus(self.scale(h)) + 0.05)


def mast_readings(n, gen):
    x = torch.randn(n, 4, generator=gen)
    mean = 0.9 * x[:, :1] + 0.5 * torch.tanh(2 * x[:, 1:2]) * x[:, 2:3]
    std = 0.15 + 0.25 * torch.sigmoid(2 * x[:, 3:4])
    return x, mean + std * torch.randn(n, 1, generator=gen)


def make_step(model, opt):
    def step(x, y):
        model.train()
        objective = -model(x).log_prob(y).mean()
        opt.zero_grad()
        objective.backward()
        opt.step()
        return objective.item()
    return step


def make_probe(model, x, y):
    def probe():
        model.eval()
        with torch.no_grad():
            dist = model(x)
            return dist.log_prob(y).mean().item(), (dist.mean - y).abs().mean().item()
    return probe


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(54)
    gen = torch.Generator().manual_seed(54)
    x, y = mast_readings(2000, gen)
    model = DensityNet(4)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = make_step(model, opt)
    probe = make_probe(model, *mast_readings(400, gen))
    for epoch in range(10):
        objective = [step(x[r], y[r]) for r in torch.randperm(len(x), generator=gen).split(50)]
        ll, mae = probe()
        print(f"epoch {epoch} objective {sum(objective) / len(objective):.3f} | held-out log-lik {ll:.3f} mae {mae:.3f}")
