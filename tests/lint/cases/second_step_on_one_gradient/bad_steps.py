import torch
from torch import nn


def left_below(model, loader, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.step()  # expect: PM565


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())

    def run(self, loader, clip):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            if clip:
                nn.utils.clip_grad_norm_(self.model.parameters(), clip)
                self.optimizer.step()
            self.optimizer.step()  # expect: PM565

    def remember(self, x):
        self.last = x

    def seen(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.model(x), y).backward()
            self.optimizer.step()
            self.remember(x)
            self.optimizer.step()  # expect: PM565
