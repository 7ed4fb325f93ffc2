import torch


def train(model, loader, optimizer, criterion, scheduler):
    model.train()  
    for x, y in loader:
        optimizer.zero_grad()  
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    scheduler.step()  


class Trainer:
    def validate(self):
        self.model.eval()  
        with torch.no_grad():
            for batch in self.loader:
                self.model(batch)

    def step(self, loss):
        self.optimizer.zero_grad()
        loss.backward()  
        self.optimizer.step()
        torch.cuda.empty_cache()  
