"""Optimizers of the user's own, and one that wraps another."""
import torch
from torch.optim import Optimizer
class Plain(Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure else None
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])
        return loss
class Twice:
    def __init__(self, inner):
        self.inner = inner
    def __getattr__(self, name):
        return getattr(self.inner, name)
    def step(self):
        self.inner.step()
        return "stepped"
weight = torch.ones(2, requires_grad=True)
for optimizer in (Plain([weight], 0.1), Twice(Plain([weight], 0.1)), Twice(torch.optim.Adam([weight], 0.1))):
    for _ in range(3):
        optimizer.zero_grad()
        (weight ** 2).sum().backward()
        print(optimizer.step(), weight.tolist())
print(Plain([weight], 0.1).step(lambda: 5.0), Plain.step.__name__, Plain.__init__.__qualname__)
