"""Arrival-time model for delivery routes."""
import logging
import sys
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s %(message)s")
log = logging.getLogger("eta")


@dataclass
class Settings:
    epochs: int = 10
    batch_size: int = 50
    max_lr: float = 5e-3
    hidden: list = field(default_factory=lambda: [64, 32])
    seed: int = 165


def routes(n):
    dist = torch.rand(n) * 10
    hour = torch.rand(n) * 24
    stops = torch.randint(0, 8, (n,)).float()
    rain = (torch.rand(n) < 0.25).float()
    rush = torch.exp(-((hour - 8) / 1.5) ** 2) + torch.exp(-((hour - 17.5) / 2) ** 2)
    eta = dist * (2 + 2.5 * rush) * (1 + 0.3 * rain) + stops * (1.5 + rain) + torch.randn(n) * 0.8
    ang = hour / 24 * 6.2832
    x = torch.stack([(dist - 5) / 2.9, ang.sin(), ang.cos(), (2 * ang).sin(), (2 * ang).cos(), (stops - 3.5) / 2.3,
                     (rain - 0.25) / 0.43], 1)
    return TensorDataset(x, (eta - 21) / 13)


class EtaNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        dims = [7, *hidden]
        blocks = [nn.Sequential(nn.Linear(a, b), nn.ReLU()) for a, b in zip(dims, dims[1:])]
        self.body = nn.Sequential(*blocks)
        self.out = nn.Linear(dims[-1], 1)

    def forward(self, x):
        return self.out(self.body(x)).flatten()


def run(s: Settings):
    torch.manual_seed(s.seed)
    train = DataLoader(routes(2500), batch_size=s.batch_size, shuffle=True)
    val_x, val_y = routes(500).tensors
    net = EtaNet(s.hidden)
    opt = torch.optim.AdamW(net.parameters(), lr=s.max_lr, weight_decay=1e-3)
    sched = OneCycleLR(opt, max_lr=s.max_lr, epochs=s.epochs, steps_per_epoch=len(train))
    mse = nn.MSELoss()
    for epoch in range(s.epochs):
        net.train()
        losses = []
        for x, y in train:
            opt.zero_grad()
            loss = mse(net(x), y)
            loss.backward()
            opt.step()
            sched.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = mse(net(val_x), val_y).item()
        log.info("epoch=%d train=%.4f val=%.4f", epoch, sum(losses) / len(losses), val)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run(Settings())
