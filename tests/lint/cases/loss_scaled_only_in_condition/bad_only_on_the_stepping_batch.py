import torch

ACCUMULATE = 4


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def run(self, loader):
        for i, batch in enumerate(loader):
            loss = self.model(**batch).loss
            if (i + 1) % ACCUMULATE == 0:
                loss = loss / ACCUMULATE  # expect: PM541
            loss.backward()
            if (i + 1) % ACCUMULATE == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
