import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, n, seed):
        self.n, self.seed = n, seed
        self.cache = {}

    def read(self, i):
        g = torch.Generator().manual_seed(self.seed * 997 + i)
        label = int(torch.randint(0, 3, (), generator=g))
        scan = torch.randn(1, 24, 24, generator=g)
        scan[:, 6 * label : 6 * label + 8] += 1.5
        return scan, label

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i not in self.cache:
            self.cache[i] = self.read(i)
        return self.cache[i]


def main():
    torch.manual_seed(11)
    train = DataLoader(Scans(240, 1), batch_size=24, shuffle=True, num_workers=2)
    val = DataLoader(Scans(72, 2), batch_size=24, num_workers=2)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(192, 3)
    )
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(6):
        net.train()
        for x, y in train:
            opt.zero_grad()
            ce(net(x), y).backward()
            opt.step()
        net.eval()
        right = 0
        with torch.no_grad():
            for x, y in val:
                right += (net(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch} accuracy {right / 72:.3f}")


if __name__ == "__main__":
    main()
