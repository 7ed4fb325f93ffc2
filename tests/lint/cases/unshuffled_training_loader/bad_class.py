import torch
import torchvision
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        dataset = torchvision.datasets.CIFAR10("data", train=True)
        self.train_loader = DataLoader(dataset, batch_size=128, pin_memory=True, drop_last=True)  # expect: PM548

    def run(self, epochs):
        for _ in range(epochs):
            for step, (x, y) in enumerate(self.train_loader):
                self.optimizer.zero_grad()
                torch.nn.functional.cross_entropy(self.model(x), y).backward()
                self.optimizer.step()
