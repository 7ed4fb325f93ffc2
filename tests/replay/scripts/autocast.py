# bfloat16 autocast, made once and entered in every step; the loss has two terms.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
x_all = torch.rand(128, 10)
x_all[40] = 30.0
y_all = torch.randint(0, 5, (128,))
loader = DataLoader(TensorDataset(x_all, y_all), batch_size=16)
model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
low = torch.autocast("cpu", dtype=torch.bfloat16)

for epoch in range(2):
    for x, y in loader:
        with low:
            logits = model(x)
            fit = nn.functional.cross_entropy(logits.float(), y)
            weight = torch.exp(x.sum(dim=1))
            barrier = (weight * logits.float().square().sum(dim=1)).mean()
        loss = fit + 1e-30 * barrier
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
