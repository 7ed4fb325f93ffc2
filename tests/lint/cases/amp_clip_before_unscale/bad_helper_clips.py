import torch


def clip(model, limit):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(batch)
        scaler.scale(loss).backward()
        clip(model, 1.0)  # expect: PM530
        scaler.step(optimizer)
        scaler.update()
