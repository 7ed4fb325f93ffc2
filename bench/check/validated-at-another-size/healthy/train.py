import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def tiles(n, seed, size):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    x = torch.randn(n, 3, size, size, generator=g)
    x[torch.arange(n), y] += 0.8
    return x, y


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 10, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(10 * 8 * 8, 3)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def main():
    torch.manual_seed(9)
    train = DataLoader(TensorDataset(*tiles(240, 1, 32)), batch_size=24, shuffle=True)
    val = DataLoader(TensorDataset(*tiles(60, 2, 32)), batch_size=30)
    net = Classifier()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(5):
        net.train()
        for x, y in train:
            opt.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            right = sum((net(x).argmax(1) == y).sum().item() for x, y in val)
        print(f"epoch {epoch} accuracy {right / 60:.3f}")


if __name__ == "__main__":
    main()
