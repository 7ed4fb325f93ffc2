import torch


class Noam:
    def __init__(self, params, factor):
        self.optimizer = torch.optim.Adam(params)
        self.factor = factor

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


def train(model, loader):
    opt = Noam(model.parameters(), 2)
    for x in loader:
        model(x).sum().backward()
        opt.step()
