import torch
from torch.optim import AdamW


class Trainer:
    def __init__(self, model, data):
        self.model = model
        self.data = data
        self.optimizer = AdamW(self.model.parameters(), lr=3e-4)
        self.loss_fn = torch.nn.MSELoss()

    def train_epoch(self):
        self.model.train()
        running = 0.0
        for x, y in self.data:
            loss = self.loss_fn(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()  
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            running += loss.item()
        return running
