"""Nothing is kept alive that Python would let go."""
import gc
import weakref
import torch
from torch import nn
def train():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 3)).sum()
        loss.backward()
        optimizer.step()
    return [weakref.ref(thing) for thing in (model, optimizer, model[0].weight, loss)]
references = train()
gc.collect()
print([reference() is None for reference in references])
