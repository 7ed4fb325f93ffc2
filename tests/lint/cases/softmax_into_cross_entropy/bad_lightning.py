import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F


class Lit(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 10))

    def forward(self, x):
        return torch.softmax(self.net(x), dim=1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        y_hat = self(x)
        loss = F.cross_entropy(y_hat, y)  # expect: PM517
        return loss


class Inner(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.classifier = nn.Sequential(nn.Linear(8, 8), nn.Softmax(dim=1))
        self.criterion = nn.CrossEntropyLoss()

    def training_step(self, batch, batch_idx):
        x, y = batch
        return self.criterion(self.classifier(x), y)  # expect: PM517
