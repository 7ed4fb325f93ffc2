"""One shared trunk, two field tasks (yield regression, disease detection) visited in turn."""
from itertools import cycle

import torch
from torch import nn


class FarmNet(nn.Module):
    def __init__(self, d=14):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(d, 64), nn.GELU(), nn.Linear(64, 32), nn.GELU())
        self.heads = nn.ModuleDict({"yield": nn.Linear(32, 1), "disease": nn.Linear(32, 1)})

    def forward(self, x, task):
        return self.heads[task](self.shared(x)).squeeze(-1)


def field_records(n, task, g):
    x = torch.randn(n, 14, generator=g)
    moist, nitro, heat = x[:, 0] * x[:, 1], x[:, 2] - 0.5 * x[:, 3] ** 2, torch.tanh(x[:, 4] + x[:, 5])
    if task == "yield":
        y = 0.6 * moist + 0.5 * nitro + 0.6 * heat + 0.1 * torch.randn(n, generator=g)
    else:
        y = (moist - heat + 0.3 * x[:, 6] + 0.2 * torch.randn(n, generator=g) > 0).float()
    return x, y


def batches(x, y, bs, g):
    while True:
        for idx in torch.randperm(len(x), generator=g).split(bs):
            yield x[idx], y[idx]


LOSS = {"yield": nn.MSELoss(), "disease": nn.BCEWithLogitsLoss()}


@torch.no_grad()
def report(net, val):
    xy, xd = val["yield"], val["disease"]
    r2 = 1 - LOSS["yield"](net(xy[0], "yield"), xy[1]) / xy[1].var()
    acc = ((net(xd[0], "disease") > 0) == xd[1].bool()).float().mean()
    return r2.item(), acc.item()


def main(epochs=10, steps=60):
    torch.set_num_threads(1)
    torch.manual_seed(83)
    g = torch.Generator().manual_seed(83)
    streams = {t: batches(*field_records(2400, t, g), 40, g) for t in LOSS}
    val = {t: field_records(500, t, g) for t in LOSS}
    net = FarmNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    turn = cycle(LOSS)
    for epoch in range(epochs):
        sums = dict.fromkeys(LOSS, 0.0)
        for _ in range(steps):
            task = next(turn)
            x, y = next(streams[task])
            opt.zero_grad(set_to_none=True)
            loss = LOSS[task](net(x, task), y)
            loss.backward()
            opt.step()
            sums[task] += loss.item()
        r2, acc = report(net, val)
        print(f"epoch {epoch} yield mse {2 * sums['yield'] / steps:.4f} disease bce {2 * sums['disease'] / steps:.4f} "
              f"| val R2 {r2:.3f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
