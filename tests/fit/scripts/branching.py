"""A model that branches on a value, and a last batch that is smaller than the others."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 32), nn.Linear(32, 1)

    def forward(self, x):
        h = self.a(x).relu()
        if h.sum() > 1e6:
            h = h / h.sum()
        return self.b(h)


torch.manual_seed(0)
x = torch.randn(40, 8)
loader = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(1000):
    for given, wanted in loader:
        loss = (model(given) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
