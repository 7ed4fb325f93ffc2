import os

import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.save_dir = "/dev/shm/run7"

    def train(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()
        self.save()

    def save(self):
        torch.save(self.model.state_dict(), os.path.join(self.save_dir, "final.pt"))  # expect: PM544
