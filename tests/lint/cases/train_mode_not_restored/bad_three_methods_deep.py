import torch


class Trainer:
    def __init__(self, model, loader, val_loader):
        self.model = model
        self.loader = loader
        self.val_loader = val_loader
        self.optimizer = torch.optim.Adam(model.parameters())

    def train(self):
        self.model.train()
        for step, batch in enumerate(self.loader):
            loss = self.model(batch).mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            if step % 100 == 0:
                self.evaluate()  # expect: PM538

    def evaluate(self):
        return self.score()

    def score(self):
        return self.predict(self.val_loader)

    @torch.no_grad()
    def predict(self, loader):
        self.model.eval()
        return torch.cat([self.model(batch) for batch in loader])
