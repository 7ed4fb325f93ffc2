import numpy as np
import torch


def set_seed(seed=0):
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


class Trainer:
    def __init__(self, model, optimizer, config):
        self.model, self.optimizer, self.config = model, optimizer, config

    def train(self, loader):
        for epoch in range(self.config.epochs):
            set_seed(self.config.seed)  # expect: PM547
            for x in loader:
                self.optimizer.zero_grad()
                self.model(x).mean().backward()
                self.optimizer.step()
