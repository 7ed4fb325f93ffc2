import torch


class Trainer:
    def __init__(self, model, batches, others, optimizer):
        self.model = model
        self.batches = batches
        self.others = others
        self.optimizer = optimizer

    def epoch(self):
        self.model.train()
        for x, y in self.batches:
            self.optimizer.zero_grad()
            torch.nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()

    def score(self):
        self.model.eval()
        with torch.no_grad():
            return sum(torch.nn.functional.mse_loss(self.model(x), y).item() for x, y in self.others)
