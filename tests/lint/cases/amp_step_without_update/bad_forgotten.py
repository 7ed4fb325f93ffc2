import torch


def train(model, loader, criterion, optimizer, epochs):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for images, targets in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = criterion(model(images), targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)  # expect: PM531
