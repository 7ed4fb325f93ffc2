import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def step(self, batch):
        pred = self.model(batch["image"])
        if torch.isnan(pred).any():
            print("NaN in prediction")
            pred = torch.nan_to_num(pred)  # expect: PM503
        loss = F.l1_loss(pred, batch["target"])
        self.optimizer.zero_grad()
        loss.backward()
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad = torch.nan_to_num(p.grad, nan=0.0)  # expect: PM503
        self.optimizer.step()
