import torch

scaler = torch.cuda.amp.GradScaler(enabled=False)


def train(model, loader, optimizer):
    for batch in loader:
        loss = model(batch)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
