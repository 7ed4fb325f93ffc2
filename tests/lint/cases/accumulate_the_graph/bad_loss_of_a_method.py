import torch
from torch import nn


class Trainer:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.optimizer = torch.optim.Adam(model.parameters())

    def run_step(self, batch, target):
        self.optimizer.zero_grad()
        output = self.model(batch)
        loss_first = nn.functional.mse_loss(output, target)
        loss_second = output.abs().mean()
        loss_both = loss_first + loss_second
        loss_total = 0.5 * loss_both + 0.1 * loss_second
        loss_total.backward()
        self.optimizer.step()
        return loss_first, 0.1 * loss_second, loss_total.item()

    def run(self):
        first = second = total = 0.0
        for batch, target in self.loader:
            loss_first, loss_second, loss_total = self.run_step(batch, target)
            first += loss_first  # expect: PM543
            second += loss_second  # expect: PM543
            total += loss_total
        return first, second, total
