"""Correction of a two-body propagator with a learned residual."""
import copy

import torch
import torch.nn as nn


class Correction(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.Tanh(), nn.Dropout(0.05), nn.Linear(width, width), nn.Tanh(),
                                 nn.Linear(width, 3))

    def forward(self, state):
        return self.net(state)


def passes(n):
    s = torch.randn(n, 6)
    pos, vel = s[:, :3], s[:, 3:]
    r2 = 0.5 + pos.pow(2).sum(1, keepdim=True)
    drag = -0.4 * vel * vel.norm(dim=1, keepdim=True)
    oblate = pos * torch.tensor([1.0, 1.0, -2.0]) / r2
    return s, drag + 1.5 * oblate + 0.05 * torch.randn(n, 3)


def freeze(model):
    frozen = copy.deepcopy(model)
    frozen.eval()
    return frozen.requires_grad_(False)


class Report:
    def __init__(self, data):
        self.data = data

    def __call__(self, model):
        x, y = self.data
        with torch.no_grad():
            err = model(x) - y
        return err.pow(2).mean().item(), err.abs().max().item()


def minibatches(x, y, size):
    perm = torch.randperm(x.shape[0])
    return ((x[i], y[i]) for i in perm.split(size))


def main(epochs=12):
    torch.set_num_threads(1)
    torch.manual_seed(243)
    train, valid = passes(2500), passes(500)
    model = Correction()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    report = Report(valid)
    snapshot = freeze(model)
    for epoch in range(epochs):
        model.train()
        losses = []
        for x, y in minibatches(*train, 50):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        mse, worst = report(snapshot)
        print(f"epoch {epoch:2d}: train {sum(losses) / len(losses):.4f} valid {mse:.4f} worst {worst:.3f}")


if __name__ == "__main__":
    main()
