import torch


class Trainer:
    def __init__(self, model, loaders):
        self.model = model
        self.loaders = loaders
        self.optimizer = torch.optim.Adam(model.parameters())

    def fit(self, epochs):
        for _ in range(epochs):
            self.model.train()
            for batch in self.loaders["train"]:
                self.optimizer.zero_grad()
                self.model(batch).backward()
                self.optimizer.step()
            self.validate()

    def validate(self):
        total = 0.0
        with torch.no_grad():
            for batch in self.loaders["val"]:  # expect: PM537
                total += self.model(batch).item()
        return total
