import torch


def train(model, loader, criterion, optimizer, use_amp, clip):
    scaler = torch.cuda.amp.GradScaler(enabled=use_amp)
    for images, targets in loader:
        optimizer.zero_grad()
        with torch.cuda.amp.autocast(enabled=use_amp):
            loss = criterion(model(images), targets)
        if use_amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if clip:
            if use_amp:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if use_amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
