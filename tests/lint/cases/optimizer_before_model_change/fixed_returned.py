import torch
import torch.nn as nn
from torchvision.models import resnet18


def build(classes):
    model = resnet18()
    width = model.fc.in_features
    model.fc = nn.Linear(width, classes)  
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
    return model, optimizer


def train(model, optimizer, loader):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
