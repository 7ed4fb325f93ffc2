import torch


def apply_step(scaler, optimizer):
    scaler.step(optimizer)
    optimizer.zero_grad()


def finish(scaler):
    scaler.update()


def train(model, loader, optimizer):
    scaler = torch.cuda.amp.GradScaler()
    for batch in loader:
        scaler.scale(model(batch)).backward()
        apply_step(scaler, optimizer)
        finish(scaler)
