"""Ids of hooks count from the same number."""
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
handles = [
    model.register_forward_hook(lambda *a: None),
    model.weight.register_hook(lambda g: g),
    optimizer.register_step_post_hook(lambda *a: None),
    register_optimizer_step_pre_hook(lambda *a: print("before")),
    register_optimizer_step_post_hook(lambda *a: print("after")),
    nn.modules.module.register_module_forward_hook(lambda *a: None),
]
print([handle.id for handle in handles])
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
for handle in handles:
    handle.remove()
optimizer.step()
print(len(model._forward_hooks), len(optimizer._optimizer_step_post_hooks))
