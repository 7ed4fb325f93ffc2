"""vmap, grad, jacrev, functional_call."""
import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, jvp, vmap
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
parameters = dict(model.named_parameters())
def loss(parameters, x):
    return functional_call(model, parameters, x).sum()
print(grad(loss)(parameters, torch.ones(1, 2))["0.weight"])
print(vmap(grad(loss), in_dims=(None, 0))(parameters, torch.ones(3, 1, 2))["2.bias"].shape)
print(jacrev(torch.sin)(torch.ones(2)), jvp(torch.exp, (torch.zeros(1),), (torch.ones(1),)))
print(torch.autograd.functional.hessian(lambda x: nn.functional.mse_loss(x, x * 0).sum(), torch.ones(2)))
