"""Wind power curve: train, be interrupted after epoch 5, resume in fresh objects from the checkpoint."""
import os
import tempfile

import torch
import torch.nn as nn


def turbine(n, g):
    speed, direction = 25 * torch.rand(n, generator=g), 6.2832 * torch.rand(n, generator=g)
    density = 1.2 + 0.05 * torch.randn(n, generator=g)
    power = torch.sigmoid((speed - 9) * 0.8) * (1 - 0.1 * torch.cos(direction).clamp(min=0)) * density
    power = torch.where(speed > 23, torch.zeros(()), power) + 0.02 * torch.randn(n, generator=g)
    x = torch.stack([(speed - 12.5) / 7.2, direction.sin(), direction.cos(), (density - 1.2) / 0.05], 1)
    return x, power.unsqueeze(1)


class Session:
    def __init__(self, total_epochs):
        self.model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.opt = torch.optim.Adam(self.model.parameters(), lr=6e-3)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, T_max=total_epochs)
        self.shuffle = torch.Generator().manual_seed(0)
        self.epoch = 0

    def save(self, path):
        blob = {"model": self.model.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(),
                "shuffle": self.shuffle.get_state(), "epoch": self.epoch}
        torch.save(blob, path + ".tmp")
        os.replace(path + ".tmp", path)

    def load(self, path):
        blob = torch.load(path, weights_only=True)
        self.model.load_state_dict(blob["model"])
        self.opt.load_state_dict(blob["opt"])
        self.sched.load_state_dict(blob["sched"])
        self.shuffle.set_state(blob["shuffle"])
        self.epoch = blob["epoch"]

    def fit(self, data, val, until, bs=50):
        x, y = data
        while self.epoch < until:
            total = 0.0
            for idx in torch.randperm(len(x), generator=self.shuffle).split(bs):
                loss = nn.functional.mse_loss(self.model(x[idx]), y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.item() * len(idx)
            self.sched.step()
            with torch.no_grad():
                v = nn.functional.mse_loss(self.model(val[0]), val[1]).item()
            print(f"epoch {self.epoch:2d} train {total / len(x):.5f} val {v:.5f} lr {self.sched.get_last_lr()[0]:.2e}")
            self.epoch += 1


def main(total=12):
    torch.set_num_threads(1)
    torch.manual_seed(36)
    g = torch.Generator().manual_seed(36)
    data, val = turbine(2000, g), turbine(500, g)
    with tempfile.TemporaryDirectory() as d:
        ckpt = os.path.join(d, "last.pt")
        first = Session(total)
        first.fit(data, val, until=6)
        first.save(ckpt)
        del first
        second = Session(total)
        second.load(ckpt)
        print(f"resumed at epoch {second.epoch} with {len(second.opt.state)} optimizer slots")
        second.fit(data, val, until=total)


if __name__ == "__main__":
    main()
