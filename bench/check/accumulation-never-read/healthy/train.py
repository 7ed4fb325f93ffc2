import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Echoes(Dataset):
    """Distance of a wall from an echo."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.d = torch.rand(n, 1, generator=g)
        t = torch.linspace(0, 1, 64)
        self.x = torch.exp(-((t - self.d) ** 2) / 0.004) + 0.1 * torch.randn(n, 64, generator=g)

    def __len__(self):
        return len(self.d)

    def __getitem__(self, i):
        return self.x[i], self.d[i]


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--grad-accum-steps", type=int, default=4)
    p.add_argument("--lr", type=float, default=2e-3)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    train = DataLoader(Echoes(512, 1), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val = DataLoader(Echoes(128, 2), batch_size=64)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    mse = nn.MSELoss()
    for epoch in range(args.epochs):
        net.train()
        opt.zero_grad()
        for i, (x, d) in enumerate(train):
            loss = mse(net(x), d) / args.grad_accum_steps
            loss.backward()
            if (i + 1) % args.grad_accum_steps == 0:
                opt.step()
                opt.zero_grad()
        net.eval()
        with torch.no_grad():
            err = sum(mse(net(x), d).item() for x, d in val) / len(val)
        print(f"epoch {epoch} val mse {err:.5f}")


if __name__ == "__main__":
    main()
