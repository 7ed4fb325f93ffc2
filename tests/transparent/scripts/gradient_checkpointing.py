"""Activation checkpointing, both kinds, and saved-tensor hooks."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for reentrant in (True, False):
    for _ in range(3):
        optimizer.zero_grad()
        x = torch.randn(2, 3, requires_grad=True)
        loss = checkpoint(model, x, use_reentrant=reentrant).pow(2).sum()
        loss.backward()
        optimizer.step()
        print(loss.item(), x.grad.sum().item())
with torch.autograd.graph.saved_tensors_hooks(lambda t: (print("pack"), t)[1], lambda t: (print("unpack"), t)[1]):
    model[0](torch.ones(1, 3)).pow(2).sum().backward()
