import torch
from torch import optim
from torch.optim import SGD


class Regressor:
    def __init__(self, model, config):
        self.model, self.weight_decay, self.config = model, 1e-5, config

    def build(self, lr, momentum):
        first = torch.optim.Adam(self.model.parameters(), self.weight_decay)  # expect: PM562
        second = SGD(self.model.parameters(), momentum)  # expect: PM562
        third = optim.AdamW(self.model.parameters(), lr=lr, weight_decay=self.config["lr"])  # expect: PM562
        return first, second, third
