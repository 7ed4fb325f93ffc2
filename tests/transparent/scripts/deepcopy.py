"""Copies of everything."""
import copy
import torch
from torch import nn
model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.0))
optimizer = torch.optim.AdamW(model.parameters())
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(3, 2) * torch.arange(3.0)[:, None]).sum().backward()
    optimizer.step()
    scheduler.step()
    twin, other, plan = copy.deepcopy(model), copy.deepcopy(optimizer), copy.deepcopy(scheduler)
    print(torch.equal(twin[0].weight, model[0].weight), other.param_groups[0]["lr"], plan.last_epoch)
print(sorted(vars(twin)), sorted(plan.state_dict()))
