import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(x)


def main(loader, test_loader):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    torch.save(model.state_dict(), "best.pt")
    model = Net()
    model.load_state_dict(torch.load("best.pt", weights_only=True))
    model.eval()
    with torch.no_grad():
        for x in test_loader:
            print(model(x))
