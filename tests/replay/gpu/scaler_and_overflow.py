import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(7)
signals = torch.randn(192, 32)
signals[130] *= 4e3
loader = DataLoader(TensorDataset(signals, torch.randn(192, 8)), batch_size=16)
model = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 8)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
scaler = torch.amp.GradScaler(device.type, init_scale=1024.0)

for x, y in loader:
    x, y = x.to(device), y.to(device)
    optimizer.zero_grad()
    with torch.autocast(device.type, dtype=torch.float16):
        out = model(x)
        power = (out * out).sum(dim=1, keepdim=True)
        loss = F.mse_loss(power.float().sqrt(), y.norm(dim=1, keepdim=True))
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
