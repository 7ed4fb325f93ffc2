import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def main(model, optimizer, epochs):
    train_set = datasets.ImageFolder("data/train", transforms.ToTensor())
    train_loader = DataLoader(train_set, batch_size=32, num_workers=4)  # expect: PM548
    for epoch in range(epochs):
        for x, y in train_loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
