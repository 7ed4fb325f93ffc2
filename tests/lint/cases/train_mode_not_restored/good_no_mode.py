import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(10):
    optimizer.zero_grad()
    net(X).mean().backward()
    optimizer.step()
    net.eval()
    with torch.no_grad():
        print(net(X_val))
