"""Identify ancient coin types from die features, class-balanced batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler


class Coins(Dataset):
    def __init__(self, n, seed, types=8, d=30):
        g = torch.Generator().manual_seed(seed)
        base = torch.Generator().manual_seed(1000)
        proto = torch.randn(types, d, generator=base)
        freq = 1.0 / torch.arange(1, types + 1).float()
        self.y = torch.multinomial(freq, n, replacement=True, generator=g)
        wear = 0.5 + 0.5 * torch.rand(n, 1, generator=g)
        self.x = wear * proto[self.y] + 1.1 * torch.randn(n, d, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BalancedBatches(Sampler):
    """Batches with the same number of coins of every type."""

    def __init__(self, labels, per_type, batches, seed=0):
        self.pools = [torch.nonzero(labels == c).flatten() for c in labels.unique()]
        self.per_type, self.batches = per_type, batches
        self.g = torch.Generator().manual_seed(seed)

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            batch = []
            for pool in self.pools:
                pick = torch.arange(len(pool))[:self.per_type]
                batch += pool[pick].tolist()
            yield batch


class CoinNet(nn.Module):
    def __init__(self, d=30, types=8):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(d, 64), nn.Linear(64, types)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        return self.fc2(self.drop(F.relu(self.fc1(x))))


def balanced_accuracy(pred, y):
    return torch.stack([(pred[y == c] == c).float().mean() for c in y.unique()]).mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(66)
    train, val = Coins(2500, 1), Coins(800, 2)
    loader = DataLoader(train, batch_sampler=BalancedBatches(train.y, per_type=6, batches=50, seed=66))
    net = CoinNet()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    for epoch in range(10):
        net.train()
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(val.x)
        print(f"epoch {epoch} train {total / len(loader):.4f} val {F.cross_entropy(out, val.y):.4f} "
              f"balanced acc {balanced_accuracy(out.argmax(1), val.y):.3f}")


if __name__ == "__main__":
    main()
