import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast


class Attention(nn.Module):
    def forward(self, q, k, v, mask, table, unknown):
        s = torch.matmul(q, k.transpose(-2, -1)).float()
        s[mask == 0] = -1e10
        t = torch.matmul(q, k.transpose(-2, -1))
        t[mask == 0] = -1e4
        t[mask == 0] = torch.finfo(t.dtype).min
        t[mask == 0] = float("-inf")
        table["limit"] = -1e10
        unknown[mask == 0] = -1e10
        bias = torch.zeros(3, 3)
        bias[mask] = -1e9
        return (s + t + bias).softmax(-1) @ v


def train(model, loader, optimizer):
    scaler = GradScaler()
    for q, k, v, mask in loader:
        with autocast():
            loss = model(q, k, v, mask, {}, v).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
