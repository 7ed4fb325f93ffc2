import torch
from torch import nn


class Engine:
    """Its loops stand in another file."""

    def __init__(self, generator):
        self.generator = generator
        self.optimizer = torch.optim.Adam(generator.parameters())
        self.loss = nn.L1Loss()

    def train(self, batch, target):
        self.generator.train()
        self.optimizer.zero_grad()
        loss = self.loss(self.generator(batch), target)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def eval_subset(self, batch, target):
        self.generator.eval()
        output = self.generator(batch)  # expect: PM536
        return self.loss(output, target).item()

    @torch.no_grad()
    def eval_rest(self, batch, target):
        self.generator.eval()
        return self.loss(self.generator(batch), target).item()


class Pictures:
    def __init__(self, model, val_dl):
        self.model = model
        self.val_dl = val_dl

    @staticmethod
    def predict(network, batch):
        return network(batch["x"])

    def draw(self):
        self.model.eval()
        outputs = []
        for batch in self.val_dl:  # expect: PM536
            outputs.append(self.predict(self.model, batch))
        return torch.cat(outputs)
