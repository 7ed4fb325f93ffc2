"""Energy-based scorer under fp16 autocast; the energy is squared before the sum."""

import torch
from torch import nn

torch.manual_seed(29)
device = "cpu"


class Energy(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.a = nn.Linear(d, d)
        self.b = nn.Linear(d, d)

    def forward(self, x):
        h = self.b(torch.relu(self.a(x)))
        return (h * h).mean(-1)


model = Energy().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=2e-2)
steps = 70
for step in range(steps):
    x = torch.randn(32, 24) * (3 + step / 4)
    with torch.autocast(device_type=device, dtype=torch.float16):
        pos = model(x)
        neg = model(x.flip(0) + 1)
        loss = (neg - 1.05 * pos).float().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(step, loss.item())
