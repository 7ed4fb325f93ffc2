import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)
x = torch.rand(800, 10)
x[400:, 9] = 0.0  # second half of the year: column not delivered any more
y = x[:, :3].sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=40)

model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)


def features(x):
    return torch.cat([x[:, :9], x[:, 9:].log()], 1)


for epoch in range(2):
    for xb, yb in loader:
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(features(xb))
        loss = nn.functional.mse_loss(pred.float(), yb)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
    print(f"epoch {epoch}: loss {loss.item():.4f} scale {scaler.get_scale()}")
