"""Kiln temperature surrogate, trained in two sittings with a checkpoint in between."""
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR


def firing_curves(n, gen):
    u = torch.rand(n, 6, generator=gen) * 2 - 1
    y = torch.sin(3 * u[:, 0]) * u[:, 1] + u[:, 2] ** 2 + 0.7 * u[:, 3] - 0.5 * u[:, 4] * u[:, 5]
    return u * 1.73, ((y - 0.33) / 0.75 + 0.03 * torch.randn(n, generator=gen)).unsqueeze(1)


def new_run():
    net = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    return net, opt, ExponentialLR(opt, gamma=0.7)


def save(path, net, opt, sched, epoch):
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "epoch": epoch}, path)


def resume(path):
    ckpt = torch.load(path)
    net, opt, sched = new_run()
    net.load_state_dict(ckpt["net"])
    opt.load_state_dict(ckpt["opt"])
    sched.load_state_dict(ckpt["sched"])
    return net, opt, sched, ckpt["epoch"]


def epoch_loop(net, opt, sched, train, val, span, gen):
    x, y = train
    for epoch in span:
        net.train()
        total = 0.0
        for rows in torch.randperm(len(x), generator=gen).split(40):
            loss = nn.functional.mse_loss(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        lr = opt.param_groups[0]["lr"]
        sched.step()
        net.eval()
        with torch.no_grad():
            v = nn.functional.mse_loss(net(val[0]), val[1]).item()
        print(f"epoch {epoch:2d} lr {lr:.5f} train {total / len(x):.5f} val {v:.5f}")


def main():
    torch.set_num_threads(1)
    torch.manual_seed(33)
    gen = torch.Generator().manual_seed(33)
    train, val = firing_curves(2400, gen), firing_curves(400, gen)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "sitting1.pt"
        net, opt, sched = new_run()
        epoch_loop(net, opt, sched, train, val, range(10), gen)
        save(path, net, opt, sched, epoch=10)
        net, opt, sched, start = resume(path)
    print(f"resumed at epoch {start}")
    epoch_loop(net, opt, sched, train, val, range(start, 14), gen)


if __name__ == "__main__":
    main()
