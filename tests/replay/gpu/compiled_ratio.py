import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(19)


def ratio_loss(out, x):
    return ((out - x) / x.abs().sum(dim=1, keepdim=True)).square().mean()


rows = torch.randn(96, 24)
rows[70] = 0.0
model = nn.Sequential(nn.Linear(24, 96), nn.SiLU(), nn.Linear(96, 24)).to(device)
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for x in DataLoader(rows, batch_size=12):
    x = x.to(device)
    loss = ratio_loss(compiled(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
