import torch


class Learner:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.cuda.amp.GradScaler()

    def learn(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)  # expect: PM531
        return loss.item()
