import torch


class Trainer:
    def __init__(self, optimizer):
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, "min")

    def end_epoch(self, metrics):
        self.scheduler.step(metrics["val_f1"])  # expect: PM551
