import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(54)
samples = [(torch.randn(9) * 3 + 1, torch.randn(())) for _ in range(96)]
net = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def standardised(items):
    x = torch.stack([item[0] for item in items])
    x = (x - x.mean(0)) / x.std(0)
    return x, torch.stack([item[1] for item in items])


loader = DataLoader(samples, batch_size=16, shuffle=True, collate_fn=standardised)
for epoch in range(4):
    for x, y in loader:
        loss = (net(x)[:, 0] - y).pow(2).mean()
        opt.zero_grad()
        if loss != loss:
            continue
        loss.backward()
        opt.step()
    print(epoch, "done")
