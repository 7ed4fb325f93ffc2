import torch
from torchvision import models


def train(model, epochs, optimizer, loss_fn, trainloader, valloader):
    for _epoch in range(epochs):
        for image, label in trainloader:
            optimizer.zero_grad()
            loss_fn(model.forward(image), label).backward()
            optimizer.step()
        for image, label in valloader:  # expect: PM537
            with torch.no_grad():
                print(loss_fn(model.forward(image), label).item())


train(models.resnet18(), 3, None, None, [], [])
