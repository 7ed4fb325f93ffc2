"""Energy of springs, gradients through torch.func, a step with grads that were put in by hand."""

import torch
from torch import nn
from torch.func import functional_call, grad_and_value

torch.manual_seed(23)
net = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 2))
names = [name for name, _ in net.named_parameters()]
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
states = torch.randn(800, 4)
states[610] = 0.0
anchors = states[:, :2] * 0.7


def energy(weights, state, anchor, scale):
    reach = functional_call(net, weights, (state,)) * scale - anchor
    return ((reach.pow(2).sum(1)).sqrt() - 0.3).pow(2).mean()


differentiate = grad_and_value(energy)
for k in range(0, 800, 20):
    part = states[k : k + 20]
    scale = part.abs().amax(1, keepdim=True)
    weights = {name: p.detach() for name, p in net.named_parameters()}
    grads, value = differentiate(weights, part, anchors[k : k + 20], scale)
    for name, p in net.named_parameters():
        p.grad = grads[name]
    opt.step()
    if k % 200 == 0:
        print(k, value.item())
