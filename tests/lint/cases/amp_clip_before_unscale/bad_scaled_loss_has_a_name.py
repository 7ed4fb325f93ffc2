import torch
from torch.cuda import amp

scaler = amp.GradScaler()


def step(model, x, y, optimizer):
    with amp.autocast():
        loss = model(x, y)
    optimizer.zero_grad()
    scaled = scaler.scale(loss)
    scaled.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: PM530
    scaler.step(optimizer)
    scaler.update()
