# hand-written linear recurrence over sequences of different length
import torch
from torch import nn


class Recurrence(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.inp = nn.Linear(2, hidden)
        self.rec = nn.Parameter(2.2 * torch.eye(hidden) + 0.02 * torch.randn(hidden, hidden))
        self.out = nn.Linear(hidden, 1)

    def forward(self, seq):
        h = torch.zeros(seq.shape[0], self.rec.shape[0])
        for t in range(seq.shape[1]):
            h = self.inp(seq[:, t]) + h @ self.rec
        return self.out(torch.nn.functional.normalize(h, dim=1)).squeeze(1)


torch.manual_seed(61)
model = Recurrence()
opt = torch.optim.Adam(model.parameters(), lr=1e-4)
for step in range(22):
    length = 16 if step < 14 else 140  # one lunar cycle instead of a day
    seq = torch.randn(8, length, 2)
    y = seq[:, -1, 0]
    loss = nn.functional.mse_loss(model(seq), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 6 == 0:
        print(step, loss.item())
