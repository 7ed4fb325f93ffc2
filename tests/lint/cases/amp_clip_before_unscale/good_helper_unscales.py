import torch


def prepare_gradients(scaler, optimizer):
    scaler.unscale_(optimizer)


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        loss = model(batch)
        scaler.scale(loss).backward()
        prepare_gradients(scaler, optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
