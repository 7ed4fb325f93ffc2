"""Layers that are built between two steps hold functions of torch's, and are saved with them."""
import io
import torch
from torch import nn
model = nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Head(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act
    def forward(self, x):
        return self.act(x)
heads = []
for step in range(12):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    heads.append(Head([torch.tanh, torch.sigmoid, torch.relu, torch.sin][step % 4]))
for head in heads:
    buffer = io.BytesIO()
    torch.save(head, buffer)
    buffer.seek(0)
    print(torch.load(buffer, weights_only=False)(torch.zeros(1)).item(), b"premortem" in buffer.getvalue())
