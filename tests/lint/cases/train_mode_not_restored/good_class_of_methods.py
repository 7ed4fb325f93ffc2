import torch


class Trainer:
    def __init__(self, model, loaders):
        self.model = model
        self.train_loader, self.val_loader = loaders
        self.optimizer = torch.optim.Adam(model.parameters())

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch()
            self.validate()

    def train_epoch(self):
        self.model.train()
        for x in self.train_loader:
            self.optimizer.zero_grad()
            self.model(x).mean().backward()
            self.optimizer.step()

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            for x in self.val_loader:
                print(self.model(x))
