"""The loss function is compiled too (backend eager); distances of matched pairs."""

import torch

torch.manual_seed(59)


@torch.compile(backend="eager")
def pair_loss(a, b, far):
    gap = (a - b).square().sum(-1)
    close = torch.sqrt(gap).mean()
    apart = torch.relu(1.0 - (a - far).square().sum(-1)).mean()
    return close + apart


left = torch.randn(360, 8)
right = left + 0.1 * torch.randn(360, 8)
right[208] = left[208]  # the same photo uploaded twice
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for i in range(0, 360, 12):
        a, b = net(left[i : i + 12]), net(right[i : i + 12])
        loss = pair_loss(a, b, a.roll(1, 0))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, float(loss))
