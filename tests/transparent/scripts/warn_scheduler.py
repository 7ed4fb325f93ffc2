"""Warnings of schedulers about the order of calls."""
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
scheduler.step()
optimizer.step()
scheduler.step(5)
print(scheduler.get_lr())
