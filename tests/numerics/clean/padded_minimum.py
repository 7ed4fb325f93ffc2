"""Point sets of different size: padding at +inf before min pooling, -inf before max pooling."""

import torch
from torch import nn


class MinMax(nn.Module):
    def __init__(self):
        super().__init__()
        self.point = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 8))
        self.out = nn.Linear(16, 1)

    def forward(self, pts, n):
        h = self.point(pts)
        pad = torch.arange(pts.shape[1]).unsqueeze(0) >= n.unsqueeze(1)
        top = h.masked_fill(pad.unsqueeze(2), -torch.inf).amax(1)
        low = h.masked_fill(pad.unsqueeze(2), torch.inf).amin(1)
        return self.out(torch.cat([top, low], 1)).squeeze(1)


torch.manual_seed(13)
model = MinMax()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(100):
    n = torch.randint(1, 9, (24,))
    pts = torch.rand(24, 8, 3)
    valid = torch.arange(8).unsqueeze(0) < n.unsqueeze(1)
    y = torch.where(valid, pts[:, :, 0], torch.zeros(())).amax(1)
    loss = nn.functional.mse_loss(model(pts, n), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, loss.item())
