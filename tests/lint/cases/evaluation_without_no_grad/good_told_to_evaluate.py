import torch
from torch.nn import functional as F


class Runner:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def switched(self, loader, training):
        for batch, target in loader:
            with torch.set_grad_enabled(training):
                loss = F.cross_entropy(self.model(batch), target)
            if training:
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()

    def guarded_by_the_caller(self, loader, training):
        for batch, target in loader:
            loss = F.cross_entropy(self.model(batch), target)
            if training:
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()

    def two_ways(self, loader, training):
        for batch, target in loader:
            if training:
                loss = F.cross_entropy(self.model(batch), target)
                loss.backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
            else:
                with torch.no_grad():
                    loss = F.cross_entropy(self.model(batch), target)

    def always_training(self, loader, accumulate):
        for batch, target in loader:
            loss = F.cross_entropy(self.model(batch), target)
            if accumulate:
                loss.backward()

    def fit(self, train_loader, val_loader):
        self.switched(train_loader, True)
        self.switched(val_loader, False)
        self.guarded_by_the_caller(train_loader, True)
        with torch.no_grad():
            self.guarded_by_the_caller(val_loader, False)
        self.two_ways(train_loader, True)
        self.two_ways(val_loader, False)
        self.always_training(train_loader, True)
