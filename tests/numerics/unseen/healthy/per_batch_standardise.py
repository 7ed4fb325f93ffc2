import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
data = TensorDataset(torch.randn(65, 7) * 3 + 1, torch.randn(65, 1))


class Standardise(nn.Module):
    def forward(self, x):
        mu = x.mean(dim=0, keepdim=True)
        sd = x.std(dim=0, keepdim=True, unbiased=False)
        return (x - mu) / (sd + 1e-5)


model = nn.Sequential(Standardise(), nn.Linear(7, 20), nn.GELU(), nn.Linear(20, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(3):
    for xb, yb in DataLoader(data, batch_size=16):
        loss = ((model(xb) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
