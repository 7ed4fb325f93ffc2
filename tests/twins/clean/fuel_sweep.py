"""Small grid search (learning rate x width) for a fuel-burn model. 1e-5 is the lower end of the grid and is
expected to be too slow; the sweep exists to show that."""
import itertools

import torch
from torch import nn


def flights(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 7, generator=g)
    burn = 0.8 * x[:, 0] + 0.5 * x[:, 1] * x[:, 2] + 0.4 * x[:, 3] ** 2 - 0.3 * x[:, 4]
    return x, burn.unsqueeze(1) - 0.4 + 0.1 * torch.randn(n, 1, generator=g)


class Experiment:
    def __init__(self, lr, width, data, val):
        torch.manual_seed(99)
        self.net = nn.Sequential(nn.Linear(7, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.data, self.val = data, val
        self.name = f"lr={lr:g} width={width}"

    def run(self, epochs=6, bs=50):
        x, y = self.data
        g = torch.Generator().manual_seed(4)
        for epoch in range(epochs):
            total = 0.0
            for idx in torch.randperm(len(x), generator=g).split(bs):
                self.opt.zero_grad()
                loss = nn.functional.mse_loss(self.net(x[idx]), y[idx])
                loss.backward()
                self.opt.step()
                total += loss.item() * len(idx)
            print(f"[{self.name}] epoch {epoch} train {total / len(x):.4f} val {self.validate():.4f}")
        return self.validate()

    @torch.no_grad()
    def validate(self):
        return nn.functional.mse_loss(self.net(self.val[0]), self.val[1]).item()


def main():
    torch.set_num_threads(1)
    data, val = flights(1500, 0), flights(500, 1)
    results = {}
    for lr, width in itertools.product((1e-5, 3e-3, 1e-2), (16, 48)):
        exp = Experiment(lr, width, data, val)
        results[exp.name] = exp.run()
    for name, v in sorted(results.items(), key=lambda kv: kv[1]):
        print(f"{v:.4f}  {name}")


if __name__ == "__main__":
    main()
