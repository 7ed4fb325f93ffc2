import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer):
    scaler = torch.cuda.amp.GradScaler()
    for step, batch in enumerate(loader):
        with torch.cuda.amp.autocast():
            loss = model(batch)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(model.parameters(), 1.0)
        if not torch.isfinite(norm):
            print("skipping step", step)
            continue  # expect: PM531
        scaler.step(optimizer)
        scaler.update()
