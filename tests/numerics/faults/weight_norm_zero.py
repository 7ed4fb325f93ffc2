# zero-initialised last layer (a trick for residual nets) meets weight norm
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = nn.Linear(d, d)
        last = nn.Linear(d, d)
        nn.init.zeros_(last.weight)
        self.b = weight_norm(last)

    def forward(self, x):
        h = torch.relu(self.a(x))
        return x + self.b(h)


torch.manual_seed(131)
net = nn.Sequential(nn.Linear(4, 8), Block(8), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(12):
    x = torch.randn(32, 4)
    loss = nn.functional.mse_loss(net(x).squeeze(1), x.sum(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
