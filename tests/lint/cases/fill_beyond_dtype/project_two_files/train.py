import torch
from models.attention import attend


def train(loader, optimizer, head):
    scaler = torch.cuda.amp.GradScaler()
    for q, k, v, mask, y in loader:
        with torch.autocast(device_type="cuda"):
            loss = head(attend(q, k, v, mask), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
