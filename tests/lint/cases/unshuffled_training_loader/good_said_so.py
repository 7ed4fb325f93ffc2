import torch
from torch.utils.data import DataLoader
from torchvision import datasets


def main(model, optimizer):
    train_loader = DataLoader(datasets.MNIST("."), 64, shuffle=False)
    for x, y in train_loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
