import torch


def set_eval(modules):
    for module in modules:
        module.eval()


class Trainer:
    def train(self):
        self.model.train()
        for batch in self.loader:
            self.optimizer.zero_grad()
            self.model(batch).backward()
            self.optimizer.step()
        self.validate()

    def validate(self):
        set_eval([self.model])
        with torch.no_grad():
            for batch in self.val_loader:
                print(self.model(batch).item())
