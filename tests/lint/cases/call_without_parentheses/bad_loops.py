import torch


def train(model, loader, optimizer, criterion, scheduler):
    model.train  # expect: PM521
    for x, y in loader:
        optimizer.zero_grad  # expect: PM521
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    scheduler.step  # expect: PM521


class Trainer:
    def validate(self):
        self.model.eval  # expect: PM521
        with torch.no_grad():
            for batch in self.loader:
                self.model(batch)

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward  # expect: PM521
        self.optimizer.step()
        torch.cuda.empty_cache  # expect: PM521
