"""Thin-lens fit: the optimizer gets a closure, the trainer is a class."""

import torch
from torch import nn


class Fit:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self.net = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.8)
        self.rays = torch.rand(600, 3)
        self.rays[371] = torch.tensor([0.2, 1.7, 0.4])  # hits outside the aperture

    def sag(self, rays):
        height = rays[:, 1]
        return 1.0 - torch.sqrt(1.44 - height * height)

    def objective(self, rays):
        self.opt.zero_grad()
        loss = ((self.net(rays).squeeze(1) - self.sag(rays)) ** 2).mean()
        loss.backward()
        return loss

    def epoch(self):
        total = 0.0
        for chunk in self.rays.chunk(25):
            total += float(self.opt.step(lambda chunk=chunk: self.objective(chunk)))
        return total


fit = Fit(5)
for _ in range(3):
    print(fit.epoch())
