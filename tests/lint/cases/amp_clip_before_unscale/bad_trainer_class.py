import torch
from torch import nn


class Trainer:
    def __init__(self, model, optimizer, loader, max_norm):
        self.model = model
        self.optimizer = optimizer
        self.loader = loader
        self.max_norm = max_norm
        self.scaler = torch.amp.GradScaler("cuda")

    def train_epoch(self):
        self.model.train()
        for batch in self.loader:
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(**batch).loss
            self.scaler.scale(loss).backward()
            if self.max_norm is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)  # expect: PM530
            self.scaler.step(self.optimizer)
            self.scaler.update()
