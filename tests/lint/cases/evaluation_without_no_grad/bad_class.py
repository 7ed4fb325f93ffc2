import torch


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.optimizer = torch.optim.Adam(model.parameters())

    def train(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            for x, y in self.train_loader:
                loss = self.model(x, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            self.validate()

    def validate(self):
        self.model.eval()
        losses = []
        for x, y in self.val_loader:  # expect: PM536
            losses.append(self.model(x, y).item())
        return sum(losses) / len(losses)
