"""Attention in half precision; what is assigned does not raise, it becomes -inf."""

import torch
from torch import nn
from torch.cuda.amp import GradScaler, autocast


class Attention(nn.Module):
    def forward(self, q, k, v, mask):
        s = torch.matmul(q, k.transpose(-2, -1))
        s[mask == 0] = -1e10  # expect: PM502
        scores = q @ k.transpose(-2, -1)
        scores[:, :, mask] = float("-1e9")  # expect: PM502
        return (s + scores).softmax(-1) @ v


def train(model, loader, optimizer):
    scaler = GradScaler()
    for q, k, v, mask in loader:
        with autocast():
            loss = model(q, k, v, mask).sum()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
