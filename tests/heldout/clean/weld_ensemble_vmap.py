"""Five weld-strength networks trained at once as one stacked parameter set."""
import torch
import torch.nn as nn
from torch.func import functional_call, stack_module_state, vmap

MEMBERS = 5


def welds(n, gen):
    x = torch.rand(n, 7, generator=gen) * 3.46 - 1.73
    y = torch.sin(x[:, 0] * 1.3) + 0.4 * x[:, 1] * x[:, 2] - 0.3 * x[:, 3] ** 2 + 0.2 * x[:, 4]
    return x, ((y + 0.1 * torch.randn(n, generator=gen) + 0.3) / 0.9).unsqueeze(1)


def member():
    return nn.Sequential(nn.Linear(7, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


class StackedEnsemble:
    def __init__(self, n):
        nets = [member() for _ in range(n)]
        self.params, self.buffers = stack_module_state(nets)
        self.skeleton = member().to("meta")
        self.forward = vmap(lambda p, b, x: functional_call(self.skeleton, (p, b), (x,)))

    def __call__(self, x):
        return self.forward(self.params, self.buffers, x)


def main(epochs=12, bs=40):
    torch.set_num_threads(1)
    torch.manual_seed(210)
    gen = torch.Generator().manual_seed(210)
    x, y = welds(1200, gen)
    xv, yv = welds(300, gen)
    bags = torch.randint(0, len(x), (MEMBERS, len(x)), generator=gen)
    ens = StackedEnsemble(MEMBERS)
    opt = torch.optim.Adam(ens.params.values(), lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        order = torch.stack([b[torch.randperm(len(x), generator=gen)] for b in bags])
        for rows in order.split(bs, dim=1):
            err = (ens(x[rows]) - y[rows]).pow(2).mean((1, 2))
            opt.zero_grad()
            err.sum().backward()
            opt.step()
            total += err.mean().item() * rows.shape[1] / len(x)
        with torch.no_grad():
            pred = ens(xv.expand(MEMBERS, -1, -1))
            single = (pred - yv).pow(2).mean().item()
            joint = (pred.mean(0) - yv).pow(2).mean().item()
        print(f"epoch {epoch:2d} train {total:.4f} | val single {single:.4f} ensemble {joint:.4f} spread {pred.std(0).mean():.3f}")


if __name__ == "__main__":
    main()
