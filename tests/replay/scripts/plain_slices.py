# Hand-written slices and a hand-written loss: the target never goes through a loss function of torch.
import torch
from torch import nn

torch.manual_seed(5)
inputs = torch.rand(160, 5)
targets = torch.rand(160, 1) + 0.5
targets[93] = -2.0
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for epoch in range(4):
    for start in range(0, 160, 20):
        x, y = inputs[start : start + 20], targets[start : start + 20]
        log_ratio = torch.log(torch.relu(model(x)) + 1e-3) - torch.log(y)
        loss = (log_ratio**2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
