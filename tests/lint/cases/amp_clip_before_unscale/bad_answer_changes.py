import torch
from torch.nn.utils import clip_grad_norm_


def fit(model, loader, optimizer, scaler, amp):
    for x in loader:
        loss = model(x).mean()
        if amp:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        amp = not amp
        if not amp:
            clip_grad_norm_(model.parameters(), 1.0)  # expect: PM530
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
