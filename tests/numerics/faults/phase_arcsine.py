"""Recover a phase: asin of a linear readout that nobody bounded."""

import torch

torch.manual_seed(6)
x = torch.rand(256, 3)
phase = 1.45 * x[:, 0]

readout = torch.nn.Linear(3, 1)
with torch.no_grad():
    readout.weight.mul_(0.1)
    readout.bias.zero_()
optim = torch.optim.SGD(readout.parameters(), lr=0.02, momentum=0.5)
history = []
while len(history) < 90:
    pick = torch.randperm(256)[:32]
    s = readout(x[pick]).flatten()
    guess = torch.asin(s)
    loss = (guess - phase[pick]).square().mean()
    optim.zero_grad()
    loss.backward()
    optim.step()
    history.append(loss.item())
print(history[:3], history[-3:])
