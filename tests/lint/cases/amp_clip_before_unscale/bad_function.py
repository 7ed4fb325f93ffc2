import torch
from torch.cuda.amp import GradScaler, autocast


def train(model, loader, criterion, optimizer, epochs):
    scaler = GradScaler()
    for epoch in range(epochs):
        for images, targets in loader:
            optimizer.zero_grad()
            with autocast():
                loss = criterion(model(images), targets)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: PM530
            scaler.step(optimizer)
            scaler.update()
