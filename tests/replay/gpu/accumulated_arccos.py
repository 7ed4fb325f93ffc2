import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(23)
a, b = torch.randn(128, 3), torch.randn(128, 3)
b[90] = a[90] * 2
model = nn.Linear(3, 3).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
nn.init.eye_(model.weight)
nn.init.zeros_(model.bias)
loader = DataLoader(TensorDataset(a, b), batch_size=8)
with torch.no_grad():
    model.weight.mul_(1.0)
for number, (x, y) in enumerate(loader):
    x, y = x.to(device), y.to(device)
    cosine = F.cosine_similarity(x, y) * 1.0000005 + 0 * model(x).sum()
    loss = (torch.acos(cosine) + model(x).square().mean(dim=1)).mean() / 4
    loss.backward()
    if number % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
