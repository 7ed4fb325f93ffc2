import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer):
    parameters = model.parameters()
    for x, y in loader:
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        clip_grad_norm_(parameters, 1.0)  # expect: PM550
        optimizer.step()


def train_with_a_list(model, loader, optimizer):
    parameters = list(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()


def train_anew(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        parameters = model.parameters()
        clip_grad_norm_(parameters, 1.0)
        optimizer.step()
