import torch


def train(model, loader, optimizer):
    scaler = torch.cuda.amp.GradScaler()
    for batch in loader:
        loss = model(batch)
        if not torch.isfinite(loss):
            continue
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
