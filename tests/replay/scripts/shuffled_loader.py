# A gradient of sqrt at 0, in one sample; dropout after it.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
points = torch.randn(240, 6)
points[101] = 0.0
labels = torch.randint(0, 4, (240,))
loader = DataLoader(TensorDataset(points, labels), batch_size=16, shuffle=True)

scale = nn.Linear(6, 6, bias=False)
head = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 4))
model = nn.ModuleDict({"scale": scale, "head": head})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    for x, y in loader:
        optimizer.zero_grad()
        z = model["scale"](x)
        radius = torch.sqrt((z * z).sum(dim=1, keepdim=True))
        loss = criterion(model["head"](torch.cat([z, radius], dim=1)), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
