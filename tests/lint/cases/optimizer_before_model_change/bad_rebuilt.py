import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc(x)


def train(loader, resume):
    model = Net(8)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    if resume:
        model = Net(16)  # expect: PM539
        model.load_state_dict(torch.load(resume, weights_only=True))
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
