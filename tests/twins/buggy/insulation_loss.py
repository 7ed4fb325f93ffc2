import torch
from torch import nn

SETTINGS = {
    "model": {"width": 56, "depth": 2},
    "optim": {"lr": 0.02, "momentum": 0.9, "weight_decay": 5e-0},
    "train": {"epochs": 12, "batch": 64},
}


def walls(n, gen):
    """Standardised wall properties -> standardised heat loss."""
    p = torch.randn(n, 6, generator=gen)
    q = p[:, 0] - 0.8 * p[:, 1] + 0.5 * p[:, 2] * p[:, 3] + 0.4 * torch.sin(2 * p[:, 4])
    q = q / 1.45 + 0.08 * torch.randn(n, generator=gen)
    return p, q[:, None]


def build(width, depth, d_in=6):
    mods = [nn.Linear(d_in, width), nn.ReLU()]
    for _ in range(depth - 1):
        mods += [nn.Linear(width, width), nn.ReLU()]
    mods.append(nn.Linear(width, 1))
    return nn.Sequential(*mods)


def batches(data, size, gen):
    order = torch.randperm(len(data[0]), generator=gen)
    for k in range(0, len(order), size):
        yield tuple(t[order[k:k + size]] for t in data)


def main(cfg):
    torch.set_num_threads(1)
    torch.manual_seed(7)
    gen = torch.Generator().manual_seed(7)
    train, (pv, qv) = walls(2560, gen), walls(512, gen)
    net = build(**cfg["model"])
    opt = torch.optim.SGD(net.parameters(), **cfg["optim"])
    for epoch in range(cfg["train"]["epochs"]):
        net.train()
        seen, total = 0, 0.0
        for p, q in batches(train, cfg["train"]["batch"], gen):
            err = nn.functional.mse_loss(net(p), q)
            opt.zero_grad()
            err.backward()
            opt.step()
            seen += len(p)
            total += err.item() * len(p)
        net.eval()
        with torch.no_grad():
            v = nn.functional.mse_loss(net(pv), qv)
        print("epoch %d: mse %.4f, val mse %.4f" % (epoch, total / seen, v.item()))


main(SETTINGS)
