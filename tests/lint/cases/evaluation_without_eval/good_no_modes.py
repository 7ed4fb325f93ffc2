import torch
from torch import nn
from torchvision import datasets


class Net(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.drop = nn.Dropout(p)


def train(epochs, optimizer, loss_fn, trainloader, valloader):
    model = Net()
    for _epoch in range(epochs):
        for image, label in trainloader:
            optimizer.zero_grad()
            loss_fn(model(image), label).backward()
            optimizer.step()
        with torch.no_grad():
            for image, label in valloader:
                print(loss_fn(model(image), label).item())


print(datasets)
