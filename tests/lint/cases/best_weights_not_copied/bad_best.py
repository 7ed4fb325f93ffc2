import copy
from collections import OrderedDict

import torch
from torch import nn


def early_stopping(model, loader, optimizer, val_loader, epochs):
    best, best_weights = float("inf"), None
    for _epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        score = evaluate(model, val_loader)
        if score < best:
            best = score
            best_weights = model.state_dict()  # expect: PM564
    model.load_state_dict(best_weights)
    return model


def train_one(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def through_a_helper(model, loader, optimizer, val_loader, epochs):
    best, kept = float("inf"), {}
    for epoch in range(epochs):
        train_one(model, loader, optimizer)
        score = evaluate(model, val_loader)
        if score < best:
            best = score
            kept = {"epoch": epoch, "model": model.state_dict()}  # expect: PM564
    torch.save(kept, "best.pt")


def only_the_table_is_copied(model, loader, optimizer, val_loader, epochs):
    best, state = 0.0, None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        score = evaluate(model, val_loader)
        if score > best:
            best, state = score, model.state_dict().copy()  # expect: PM564
    return state


def a_comprehension_of_the_same_tensors(model, loader, optimizer, val_loader, epochs):
    best, state = 0.0, None
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        score = evaluate(model, val_loader)
        if score > best:
            best = score
            state = OrderedDict({k: v for k, v in model.state_dict().items()})  # expect: PM564
        if score < best / 2:
            break
    return state, best


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.best = float("inf")
        self.best_state = None

    def _epoch(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()

    def fit(self, loader, val_loader, epochs):
        for _epoch in range(epochs):
            self._epoch(loader)
            score = evaluate(self.model, val_loader)
            if score < self.best:
                self.best = score
                self.best_state = copy.copy(self.model.state_dict())  # expect: PM564

    def restore(self):
        self.model.load_state_dict(self.best_state)


class Stopper:
    def __init__(self, patience):
        self.best, self.weights, self.left = None, None, patience

    def __call__(self, score, model):
        if self.best is None or score > self.best:
            self.best = score
            self.weights = model.state_dict()  # expect: PM564
        else:
            self.left -= 1
        return self.left == 0

    def restore(self, model):
        model.load_state_dict(self.weights)


class StopperThatLoads:
    def __init__(self, patience):
        self.best, self.kept, self.left = None, None, patience

    def __call__(self, score, model):
        if self.best is None or score > self.best:
            self.best = score
            self.kept = model.state_dict().copy()  # expect: PM564
        else:
            self.left -= 1
        if self.left == 0:
            model.load_state_dict(self.kept)


class StopperThatIsAsked:
    def __init__(self):
        self.best, self.found = 0.0, None

    def step(self, score, model):
        if score > self.best:
            self.best = score
            self.found = model.state_dict()  # expect: PM564


def asked(model, loader, optimizer, epochs):
    stopper = StopperThatIsAsked()
    for _epoch in range(epochs):
        train_one(model, loader, optimizer)
        stopper.step(evaluate(model, loader), model)
    model.load_state_dict(stopper.found)


def evaluate(model, loader):
    with torch.no_grad():
        return sum(float((model(x) - y).square().mean()) for x, y in loader)
