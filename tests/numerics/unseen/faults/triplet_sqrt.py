import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
imgs = torch.rand(120, 1, 8, 8)
pos = imgs + 0.05 * torch.randn_like(imgs)
neg = torch.rand(120, 1, 8, 8)
pos[77] = imgs[77]
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 8))
optim = torch.optim.Adam(net.parameters(), 1e-3)


def euclid(a, b):
    return ((a - b) ** 2).sum(1).sqrt()


def train_epoch(loader):
    total = 0.0
    for a, p, n in loader:
        fa, fp, fn = net(a), net(p), net(n)
        loss = torch.relu(euclid(fa, fp) - euclid(fa, fn) + 5.0).mean()
        optim.zero_grad()
        loss.backward()
        optim.step()
        total += loss.item()
    return total


loader = DataLoader(TensorDataset(imgs, pos, neg), batch_size=10)
for e in range(2):
    print("epoch", e, train_epoch(loader))
