"""Fit a display's gamma. The linear layer may leave the positive half."""

import torch

torch.manual_seed(2)
rgb = torch.rand(400, 3) * 0.9 + 0.1
lum = (rgb @ torch.tensor([0.3, 0.6, 0.1])) ** 2.2

mix = torch.nn.Linear(3, 1)
with torch.no_grad():
    mix.weight.fill_(0.33)
    mix.bias.fill_(0.3)
gamma = torch.nn.Parameter(torch.tensor(1.0))
opt = torch.optim.SGD([{"params": mix.parameters()}, {"params": [gamma], "lr": 0.02}], lr=0.06, momentum=0.9)

losses = []
for it in range(120):
    sel = torch.randint(0, 400, (50,))
    linear = mix(rgb[sel]).squeeze(1)
    pred = torch.pow(linear, gamma)
    loss = torch.nn.functional.mse_loss(pred, lum[sel])
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    losses.append(loss.item())
print(losses[::20], gamma.item())
