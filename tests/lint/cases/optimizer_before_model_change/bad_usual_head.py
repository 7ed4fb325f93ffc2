import torch
import torch.nn as nn
from torchvision import models


def train(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()


def main(loader, classes):
    model = models.resnet50(weights="IMAGENET1K_V2")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    model.fc = nn.Linear(model.fc.in_features, classes)  # expect: PM539
    train(model, optimizer, loader)
