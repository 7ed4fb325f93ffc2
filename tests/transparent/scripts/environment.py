"""Environment variables, before and after torch."""
import os
before = dict(os.environ)
import torch
model = torch.nn.Linear(2, 1)
torch.optim.SGD(model.parameters(), lr=0.1).step()
for name in sorted(set(before) | set(os.environ)):
    if before.get(name) != os.environ.get(name):
        print(name, before.get(name), os.environ.get(name))
print(sorted(name for name in before if "PREMORTEM" in name or "SQLITE" in name))
