"""A small training with everything that has state: moments, statistics, dropout, a schedule, an average, an order."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

import premortem


class Data(torch.utils.data.Dataset):
    """Samples with noise drawn anew each time, from the global generator."""

    def __init__(self, size=50):
        generator = torch.Generator().manual_seed(1)
        self.images = torch.randn(size, 1, 8, 8, generator=generator)
        self.labels = torch.randint(0, 3, (size,), generator=generator)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index] + 0.1 * torch.randn(1, 8, 8), self.labels[index], index


class Training:
    def __init__(self, seed=0, workers=0):
        torch.manual_seed(seed)
        self.model = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(144, 3)
        )
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 60)
        self.ema = torch.optim.swa_utils.AveragedModel(self.model)
        self.loader = premortem.ResumableLoader(Data(), batch_size=8, shuffle=True, num_workers=workers)
        self.losses = []
        self.seen = []

    @property
    def pieces(self):
        names = ("model", "optimizer", "scheduler", "ema", "loader")
        return {name: getattr(self, name) for name in names}

    def run(self, start, end, after=lambda step: None):
        step = start
        while step < end:
            for images, labels, indices in self.loader:
                loss = F.cross_entropy(self.model(images), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.ema.update_parameters(self.model)
                self.losses.append(loss.item())
                self.seen.append(indices.tolist())
                after(step)
                step += 1
                if step >= end:
                    return

    def bits(self):
        states = (self.model.state_dict(), self.ema.state_dict())
        return [value for state in states for value in state.values()]
