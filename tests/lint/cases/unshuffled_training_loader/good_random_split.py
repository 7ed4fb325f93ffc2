import torch
from torch.utils.data import DataLoader, random_split
from torchvision import datasets


def main(model, optimizer):
    train_set, val_set = random_split(datasets.MNIST("."), [50000, 10000])
    train_loader = DataLoader(train_set, 64)
    for x, y in train_loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
