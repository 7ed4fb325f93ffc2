import torch
from torch.nn.utils import clip_grad_value_


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        with torch.autocast("cuda"):
            loss = model(x).mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        clip_grad_value_(model.parameters(), 1.0)  # expect: PM550
