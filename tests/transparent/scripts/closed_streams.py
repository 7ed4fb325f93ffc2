"""A script that closes stderr and goes on."""
import sys
import torch
sys.stderr.close()
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
print("done")
