import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer):
    scaler = torch.cuda.amp.GradScaler()
    for batch in loader:
        loss = model(batch)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if not torch.isfinite(clip_grad_norm_(model.parameters(), 1.0)):
            scaler.update()
            continue
        scaler.step(optimizer)
        scaler.update()
