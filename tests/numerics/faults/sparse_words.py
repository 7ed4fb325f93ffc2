"""Adagrad without its epsilon: a word that has never been seen divides 0 by 0."""

import torch
from torch import nn

torch.manual_seed(71)


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Parameter(torch.randn(40, 6) * 0.1)
        self.top = nn.Linear(6, 2)

    def forward(self, counts):
        return self.top(counts @ self.words)


def documents(number, width):
    counts = torch.zeros(16, 40)
    counts[:, :width] = torch.poisson(torch.full((16, width), 1.5)) + 1
    return counts, (counts[:, 0] > 2).long()


bag = Bag()
opt = torch.optim.Adagrad(bag.parameters(), lr=0.05, eps=0.0)
for number in range(1, 31):
    counts, label = documents(number, 40 if number < 13 else 25)
    if number == 13:
        opt = torch.optim.Adagrad(bag.parameters(), lr=0.02, eps=0.0)  # second phase: common words only
    loss = nn.functional.cross_entropy(bag(counts), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
