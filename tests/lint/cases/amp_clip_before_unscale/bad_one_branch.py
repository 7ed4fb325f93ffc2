import torch
from torch.nn.utils import clip_grad_norm_, clip_grad_value_


def train_step(model, batch, optimizer, scaler, clip_mode, clip):
    with torch.autocast("cuda"):
        loss = model(batch)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    if clip_mode == "norm":
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), clip)
    elif clip_mode == "value":
        clip_grad_value_(model.parameters(), clip)  # expect: PM530
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()
