import torch
from torch.optim.lr_scheduler import MultiStepLR, ReduceLROnPlateau, StepLR


def train(model, loader, criterion, epochs, evaluate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = StepLR(optimizer, step_size=30)
    plateau = ReduceLROnPlateau(optimizer, patience=3)
    milestones = MultiStepLR(optimizer, [10, 20])
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        milestones.step()
        plateau.step(evaluate(model))
