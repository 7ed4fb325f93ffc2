# all weights in half precision, on the CPU because the GPU queue is full
import torch
from torch import nn


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(32, 64)
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        h = self.inp(x)
        return self.out(h / 64)


torch.manual_seed(20)
rows = torch.randn(512, 32)
rows[300] *= 2000000  # grams, the rest is tonnes
target = rows.clamp(-3, 3).mean(1, keepdim=True)
net = Projector().half()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for i in range(0, 512, 16):
        x, y = rows[i : i + 16].clamp(-6e4, 6e4).half(), target[i : i + 16].half()
        loss = nn.functional.l1_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("epoch", epoch, loss.item())
