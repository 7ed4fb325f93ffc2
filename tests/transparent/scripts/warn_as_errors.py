"""Every warning is an error."""
import traceback
import warnings
warnings.simplefilter("error")
import torch
import torch.nn.functional as F
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    optimizer.zero_grad()
    model(torch.ones(4, 3)).mean().backward()
    optimizer.step()
try:
    F.mse_loss(model(torch.ones(4, 3)), torch.ones(4))
except UserWarning:
    traceback.print_exc()
