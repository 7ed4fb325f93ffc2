import copy

import torch
from torch import nn


def train_one(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def copied(model, loader, optimizer, val_loader, epochs):
    best, state, table = 0.0, None, None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        score = evaluate(model, val_loader)
        if score > best:
            best, state = score, copy.deepcopy(model.state_dict())
            table = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state or table)


def saved_at_once(model, loader, optimizer, val_loader, epochs):
    best = 0.0
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        score = evaluate(model, val_loader)
        if score > best:
            best = score
            state = {"model": model.state_dict(), "score": score}
            torch.save(state, "best.pt")
    return best


def ends_with_it(model, loader, optimizer, val_loader, epochs):
    state = None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        if evaluate(model, val_loader) < 0.1:
            state = model.state_dict()
            break
    torch.save(state, "last.pt")


def the_last_ones_are_meant(model, loader, optimizer, epochs):
    state = None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        state = model.state_dict()
    torch.save(state, "last.pt")


def a_new_model_each_time(loader, val_loader, folds):
    best, state = 0.0, None
    for _fold in range(folds):
        model = nn.Linear(3, 3)
        train_one(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))
        score = evaluate(model, val_loader)
        if score > best:
            best, state = score, model.state_dict()
    return state


def nothing_trains(models, val_loader, model):
    best, state = 0.0, None
    for _other in models:
        score = evaluate(model, val_loader)
        if score > best:
            best, state = score, model.state_dict()
    return state


def the_optimizer(model, loader, optimizer, val_loader, epochs):
    state = None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        if evaluate(model, val_loader) < 0.1:
            state = optimizer.state_dict()
    return state


def only_shown(model, loader, optimizer, val_loader, epochs):
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        if evaluate(model, val_loader) < 0.1:
            names = model.state_dict()
            print(len(names))


class TwoNetworks:
    def __init__(self, policy, target):
        self.policy, self.target, self.latest = policy, target, None

    def update(self, step):
        if step % 100 == 0:
            self.latest = self.policy.state_dict()
            self.target.load_state_dict(self.latest)


class Saver:
    def __init__(self, path):
        self.best, self.weights, self.path = None, None, path

    def __call__(self, score, model):
        if self.best is None or score > self.best:
            self.best = score
            self.weights = model.state_dict()
            self.write()

    def write(self):
        torch.save(self.weights, self.path)


def evaluate(model, loader):
    with torch.no_grad():
        return sum(float((model(x) - y).square().mean()) for x, y in loader)
