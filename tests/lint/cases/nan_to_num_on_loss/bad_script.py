import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for x, y in batches:
    loss = nn.functional.mse_loss(model(x), y)
    loss = loss.nan_to_num(0.0)  # expect: PM503
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        p.grad[torch.isnan(p.grad)] = 0  # expect: PM503
    optimizer.step()
