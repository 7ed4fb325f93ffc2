"""Listener x podcast factors fitted by alternating phases: one side is held while the other moves."""
import torch
import torch.nn as nn

CFG = {"listeners": 120, "shows": 50, "k": 6, "rounds": 8, "inner": 25, "lr": 0.05, "l2": 2e-3}


class TwoSided(nn.Module):
    def __init__(self, n, m, k):
        super().__init__()
        self.left = nn.Parameter(0.3 * torch.randn(n, k))
        self.right = nn.Parameter(0.3 * torch.randn(m, k))

    def forward(self):
        return self.left @ self.right.t()


def observed(cfg, g):
    u, v = torch.randn(cfg["listeners"], 3, generator=g), torch.randn(cfg["shows"], 3, generator=g)
    r = 0.6 * u @ v.t() + 0.2 * torch.randn(cfg["listeners"], cfg["shows"], generator=g)
    draw = torch.rand(r.shape, generator=g)
    return r, draw < 0.4, draw > 0.9


def phase(model, active, frozen, cfg, r, mask):
    active.requires_grad_(True)
    frozen.requires_grad_(False)
    opt = torch.optim.Adam([active], lr=cfg["lr"])
    for _ in range(cfg["inner"]):
        fit = ((model() - r)[mask] ** 2).mean()
        loss = fit + cfg["l2"] * active.pow(2).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return fit.item()


def main(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(204)
    r, train, test = observed(cfg, torch.Generator().manual_seed(204))
    model = TwoSided(cfg["listeners"], cfg["shows"], cfg["k"])
    print(f"{int(train.sum())} ratings, test variance {r[test].var():.3f}")
    for rnd in range(cfg["rounds"]):
        a = phase(model, model.left, model.right, cfg, r, train)
        b = phase(model, model.right, model.left, cfg, r, train)
        with torch.no_grad():
            mse = (model() - r)[test].pow(2).mean().item()
        print(f"round {rnd}: listeners {a:.4f} shows {b:.4f} | test mse {mse:.4f}")


main(CFG)
