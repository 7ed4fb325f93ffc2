"""MAML on sine regression: one differentiable inner step with functional_call, Adam outside."""
import math

import torch
import torch.nn as nn
from torch.func import functional_call


def sample_tasks(n, g):
    amp = 0.5 + 1.5 * torch.rand(n, 1, 1, generator=g)
    phase = math.pi * torch.rand(n, 1, 1, generator=g)
    return lambda k: (lambda x: (x / 3, amp * torch.sin(x + phase)))(6 * torch.rand(n, k, 1, generator=g) - 3)


class Meta:
    def __init__(self, inner_lr=0.05):
        self.net = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
        self.inner_lr = inner_lr
        self.opt = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def loss(self, params, x, y):
        return nn.functional.mse_loss(functional_call(self.net, params, (x,)), y)

    def adapt(self, x, y, steps=1, create_graph=True):
        params = dict(self.net.named_parameters())
        for _ in range(steps):
            grads = torch.autograd.grad(self.loss(params, x, y), list(params.values()), create_graph=create_graph)
            params = {k: p - self.inner_lr * g for (k, p), g in zip(params.items(), grads)}
        return params

    def meta_step(self, draw, n_tasks):
        xs, ys = draw(10)
        xq, yq = draw(10)
        self.opt.zero_grad()
        total = 0.0
        for i in range(n_tasks):
            fast = self.adapt(xs[i], ys[i])
            loss = self.loss(fast, xq[i], yq[i]) / n_tasks
            loss.backward()
            total += loss.item()
        self.opt.step()
        return total

    def evaluate(self, draw, n_tasks, steps):
        xs, ys = draw(10)
        xq, yq = draw(50)
        out = 0.0
        for i in range(n_tasks):
            fast = self.adapt(xs[i], ys[i], steps=steps, create_graph=False)
            with torch.no_grad():
                out += self.loss(fast, xq[i], yq[i]).item() / n_tasks
        return out


def main(iters=200, n_tasks=4):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    g = torch.Generator().manual_seed(1)
    meta, run = Meta(), 0.0
    for it in range(1, iters + 1):
        run += meta.meta_step(sample_tasks(n_tasks, g), n_tasks)
        if it % 20 == 0:
            test = [meta.evaluate(sample_tasks(12, torch.Generator().manual_seed(777)), 12, s) for s in (0, 1, 5)]
            print(f"iter {it:3d} meta loss {run / 20:.4f} test mse after 0/1/5 steps " + " / ".join(f"{t:.4f}" for t in test))
            run = 0.0


if __name__ == "__main__":
    main()
