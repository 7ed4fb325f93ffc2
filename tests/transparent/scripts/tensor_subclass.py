"""Subclasses with __torch_function__ and modes of the user's see the calls they always saw."""
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print("sub", getattr(func, "__name__", func))
        return super().__torch_function__(func, types, args, kwargs or {})
class Mode(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        print("mode", getattr(func, "__name__", func), func is F.mse_loss, func is F.dropout)
        return func(*args, **(kwargs or {}))
class Ops(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        print("op", func)
        return func(*args, **(kwargs or {}))
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    x = torch.ones(1, 2).as_subclass(Loud)
    F.mse_loss(F.dropout(x, 0.0), x * 2)
    with Mode():
        loss = F.mse_loss(F.dropout(model(torch.ones(1, 2)), 0.0), torch.zeros(1, 2))
    with Ops():
        loss.backward()
        optimizer.step()
