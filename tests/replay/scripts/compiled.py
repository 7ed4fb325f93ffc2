# A compiled model; the fault is in its own code, so it fails eagerly as well.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(12)
x_all = torch.rand(64, 6) + 0.1
x_all[30] = 0.0
loader = DataLoader(TensorDataset(x_all, torch.rand(64, 1)), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 1)

    def forward(self, x):
        return self.body(x / x.sum(dim=1, keepdim=True))


model = torch.compile(Net(), backend="aot_eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
