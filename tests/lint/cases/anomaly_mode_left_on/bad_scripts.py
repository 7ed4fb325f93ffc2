import torch
from torch import autograd

torch.autograd.set_detect_anomaly(True)  # expect: PM512


def main():
    autograd.set_detect_anomaly(mode=True)  # expect: PM512
    train()


def train(model, loader, optimizer):
    for x, y in loader:
        with torch.autograd.detect_anomaly():  # expect: PM512
            loss = model(x, y)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def setup(args):
    torch.backends.cudnn.benchmark = True
    torch.autograd.set_detect_anomaly(True, check_nan=True)  # expect: PM512


def lightning(model):
    import pytorch_lightning as pl

    trainer = pl.Trainer(max_epochs=3, detect_anomaly=True)  # expect: PM512
    trainer.fit(model)
