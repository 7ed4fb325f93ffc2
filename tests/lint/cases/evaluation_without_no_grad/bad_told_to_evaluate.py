import torch
from torch.nn import functional as F


class Runner:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def run_epoch(self, loader, training):
        self.model.train(training)
        total = 0.0
        for batch, target in loader:  # expect: PM536
            loss = F.cross_entropy(self.model(batch), target)
            if training:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            total += loss.item()
        return total

    def fit(self, train_loader, val_loader):
        for _epoch in range(10):
            self.run_epoch(train_loader, True)
            self.run_epoch(val_loader, False)


def main(net, optimizer, train_loader, val_loader):
    def run(loader, phase):
        net.train() if phase == "train" else net.eval()
        for batch, target in loader:  # expect: PM536
            output = net(batch)
            loss = F.cross_entropy(output, target)
            with torch.no_grad():
                print((output.argmax(1) == target).float().mean())
            if phase == "train":
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    run(train_loader, "train")
    run(val_loader, "val")


def test_epoch(net, loader):
    """The way back to training mode is no training."""
    net.eval()
    hits = 0
    for name in loader.names:  # expect: PM536
        hits += int(net(torch.load(name)).argmax())
    net.train()
    return hits
