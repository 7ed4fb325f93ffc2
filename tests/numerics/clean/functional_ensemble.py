"""Three models at once with vmap; gradients from torch.func."""

import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(11)
nets = [nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1)) for _ in range(3)]
stacked, _ = stack_module_state(nets)
params = {name: nn.Parameter(value.detach().clone()) for name, value in stacked.items()}
opt = torch.optim.Adam(params.values(), lr=1e-2)


def loss(weights, x, y):
    return nn.functional.mse_loss(functional_call(nets[0], weights, (x,)), y)


slopes = vmap(grad(loss), in_dims=(0, None, None))
x = torch.randn(300, 5)
y = x.sum(1, keepdim=True)
for step in range(60):
    pick = torch.randint(0, 300, (32,))
    given = slopes({n: p.detach() for n, p in params.items()}, x[pick], y[pick])
    for name, parameter in params.items():
        parameter.grad = given[name]
    opt.step()
