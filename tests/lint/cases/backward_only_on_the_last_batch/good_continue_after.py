import torch


def train(model, loader, optimizer, accumulate):
    scaler = torch.amp.GradScaler("cuda")
    for i, batch in enumerate(loader):
        loss = model(batch) / accumulate
        scaler.scale(loss).backward()
        if (i + 1) % accumulate != 0:
            continue
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


def train_either(model, loader, optimizer, accumulate, careful):
    for i, batch in enumerate(loader):
        loss = model(batch) / accumulate
        if careful:
            if i % accumulate != 0:
                continue
        else:
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
