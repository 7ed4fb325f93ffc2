import torch

for x, y in batches:
    optimizer.zero_grad()
    total = criterion(model(x), y).data.requires_grad_(True)  # expect: PM553
    total.backward()
    optimizer.step()
