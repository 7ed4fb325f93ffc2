import torch


def train_epoch(model, loader, optimizer, scaler):
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(x).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)  # expect: PM531


def main(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(10):
        train_epoch(model, loader, optimizer, scaler)
