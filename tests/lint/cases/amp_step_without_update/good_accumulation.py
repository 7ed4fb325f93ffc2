import torch


def train(model, loader, optimizer, accumulate):
    scaler = torch.amp.GradScaler("cuda")
    for i, batch in enumerate(loader):
        loss = model(batch) / accumulate
        scaler.scale(loss).backward()
        if (i + 1) % accumulate != 0:
            continue
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
