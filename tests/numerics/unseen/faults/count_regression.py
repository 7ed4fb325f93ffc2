import torch
from torch import nn

torch.manual_seed(1)
X = torch.randn(240, 6)
counts = torch.poisson(torch.exp(0.4 * X[:, 0]))


class RateNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return torch.relu(self.body(x) + 0.8).squeeze(1)


def poisson_nll(rate, k):
    return (rate - k * torch.log(rate)).mean()


model = RateNet()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(60):
    pick = torch.randint(0, 240, (16,))
    loss = poisson_nll(model(X[pick] * (1 + step / 10)), counts[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done", loss.item())
