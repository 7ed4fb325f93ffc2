import torch
from torch.optim.lr_scheduler import ExponentialLR, MultiStepLR, StepLR


def train(model, loader, criterion, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    per_epoch = len(loader)
    decay = StepLR(optimizer, step_size=30 * per_epoch)
    milestones = MultiStepLR(optimizer, milestones=[60_000, 80_000])
    slow = ExponentialLR(optimizer, gamma=0.99995)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            decay.step()
            milestones.step()
            slow.step()
