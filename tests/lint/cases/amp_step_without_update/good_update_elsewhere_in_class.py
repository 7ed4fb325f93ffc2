import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer
        self.grad_scaler = torch.cuda.amp.GradScaler()

    def optimizer_step(self):
        self.grad_scaler.step(self.optimizer)
        self.optimizer.zero_grad()

    def after_step(self):
        self.grad_scaler.update()

    def train(self, loader):
        for batch in loader:
            self.grad_scaler.scale(self.model(batch)).backward()
            self.optimizer_step()
            self.after_step()
