import sys
from .data import batches
import torch
print(__name__, __package__, sys.argv[1:], __spec__.name)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for batch in batches():
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
raise SystemExit(3)
