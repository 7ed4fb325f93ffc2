# Fails in the very first step: there is no step before it.
import torch
from torch import nn

torch.manual_seed(8)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.4), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.randn(30, 4)
for step in range(3):
    index = torch.randperm(30)[:10]
    scores = model(data[index]) - torch.inf * (data[index].sum(dim=1, keepdim=True) > 1e3)
    share = torch.softmax(scores, dim=1)
    loss = (share * torch.log(share.detach() * 0)).sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
