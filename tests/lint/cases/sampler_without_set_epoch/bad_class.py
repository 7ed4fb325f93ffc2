import torch
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, data, optimizer):
        self.model, self.optimizer = model, optimizer
        self.loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))

    def train(self, epochs):
        for epoch in range(epochs):  # expect: PM546
            for x in self.loader:
                self.optimizer.zero_grad()
                self.model(x).mean().backward()
                self.optimizer.step()
