import torch
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST


def train_epoch(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def main(model, optimizer):
    training = DataLoader(MNIST(".", train=True), 64)  # expect: PM548
    for epoch in range(5):
        train_epoch(model, training, optimizer)
