import torch
from torch import nn

# siamese distances: sqrt(. + eps), some pairs are identical
torch.manual_seed(10)
a = torch.randn(500, 6)
b = a + 0.5 * torch.randn(500, 6)
b[::25] = a[::25]
same = (b - a).abs().sum(1) < 2.2
net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 8))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(3):
    for i in range(0, 500, 20):
        gap = net(a[i : i + 20]) - net(b[i : i + 20])
        d = (gap.pow(2).sum(1) + 1e-6).sqrt()
        s = same[i : i + 20]
        loss = (torch.where(s, d, torch.relu(1.5 - d))).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
