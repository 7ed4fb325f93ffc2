import torch
from torch import nn


class Auto(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder
        self.head = nn.Linear(3, 3)
        self.loss = nn.MSELoss()

    def generate(self, n):
        return self.decoder([None] * n)

    def eval_fid(self, loader, metric):
        for batch in loader:  # expect: PM536
            metric.update(self.generate(len(batch)).data)
        return metric.compute()

    def evaluate(self, loader):
        total = 0.0
        for batch in loader:  # expect: PM536
            total += float(self.head(batch).sum())
        return total

    def evaluate_given(self, loader):
        return sum(float(self.loss(a, b)) for a, b in loader), torch.__version__
