import os

import torch
from nets import Net, resnet


def raises(path, x):
    model = Net()
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    else:
        raise FileNotFoundError(path)
    model.eval()
    return model(x)


def leaves(path, x):
    model = Net()
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    else:
        print("none")
        return None
    model.eval()
    return model(x)


def resumes(path, loader):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    model.eval()
    return model


def fetched(path, x):
    model = resnet(weights="DEFAULT")
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    return model(x)


def pretrained(path, x):
    model = Net(pretrained=True)
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    return model(x)


def given(model, path, x):
    if os.path.exists(path):
        model.load_state_dict(torch.load(path, weights_only=True))
    model.eval()
    return model(x)
