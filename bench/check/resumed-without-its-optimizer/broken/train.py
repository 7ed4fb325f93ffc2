import argparse
import os

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FILE = "last.pt"


def pumps(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    w = torch.linspace(-1, 1, 12)
    return x, (x @ w + 0.1 * torch.randn(n, generator=g))[:, None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(21)
    train = DataLoader(TensorDataset(*pumps(320, 1)), batch_size=32, shuffle=True)
    xv, yv = pumps(64, 2)
    net = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.8)
    start = 0
    if args.resume and os.path.exists(FILE):
        state = torch.load(FILE)
        net.load_state_dict(state["net"])
        torch.set_rng_state(state["rng"])
        start = state["epoch"] + 1
    for epoch in range(start, args.epochs):
        net.train()
        for x, y in train:
            opt.zero_grad()
            nn.functional.mse_loss(net(x), y).backward()
            opt.step()
        sched.step()
        net.eval()
        with torch.no_grad():
            print(f"epoch {epoch} val {nn.functional.mse_loss(net(xv), yv).item():.5f}")
        torch.save(
            {
                "net": net.state_dict(),
                "opt": opt.state_dict(),
                "sched": sched.state_dict(),
                "rng": torch.get_rng_state(),
                "epoch": epoch,
            },
            FILE,
        )


if __name__ == "__main__":
    main()
