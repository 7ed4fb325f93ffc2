import torch
from torch import nn


class TripletLoss(nn.Module):
    def forward(self, anchors, positives, negatives):
        if len(negatives) == 0:
            return torch.tensor(0.0, requires_grad=True)  # expect: PM504
        return torch.relu((anchors - positives).norm() - (anchors - negatives).norm() + 1.0).mean()


def ms_ssim_loss(pred, target):
    try:
        return 1 - ms_ssim(pred, target)
    except RuntimeError:
        return torch.zeros(1, device=pred.device, requires_grad=True)  # expect: PM504


def training_step(self, batch, batch_idx):
    loss = self.model(batch)
    if not torch.isfinite(loss):
        return torch.tensor(0.0, device=self.device, requires_grad=True)  # expect: PM504
    return loss


def compute_loss(outputs, labels):
    valid = labels != -100
    if not valid.any():
        loss = torch.tensor(0.0, requires_grad=True).to(outputs.device)  # expect: PM504
    else:
        loss = nn.functional.cross_entropy(outputs[valid], labels[valid])
    return loss


def train(model, loader, optimizer):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        if torch.isnan(loss):
            loss = torch.tensor(0.0, requires_grad=True)  # expect: PM504
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
