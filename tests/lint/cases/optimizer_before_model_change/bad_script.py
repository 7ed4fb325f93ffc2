import torch
from torch import nn
from torchvision import models

model = models.resnet18(weights="DEFAULT")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.fc = nn.Linear(512, 10)  # expect: PM539


def one_batch(x, y):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()


def train(loader):
    for x, y in loader:
        one_batch(x, y)


train(make_loader())
