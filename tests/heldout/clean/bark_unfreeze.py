"""Tree bark classifier: pre-trained blocks join the optimizer one after the other."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BarkNet(nn.Module):
    def __init__(self, classes, d=32, h=64):
        super().__init__()
        self.low = nn.Sequential(nn.Linear(d, h), nn.LayerNorm(h), nn.ReLU())
        self.high = nn.Sequential(nn.Linear(h, h), nn.LayerNorm(h), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(h, classes)

    def forward(self, x):
        return self.head(self.high(self.low(x)))


def bark(n, proto, mix):
    y = torch.randint(0, len(proto), (n,))
    return torch.tanh((proto[y] + 0.9 * torch.randn(n, 12)) @ mix) + 0.3 * torch.randn(n, 32), y


class Runner:
    def __init__(self, model, opt):
        self.model, self.opt = model, opt

    def epoch(self, loader):
        self.model.train()
        tot = 0.0
        for x, y in loader:
            loss = F.cross_entropy(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            tot += loss.item()
        return tot / len(loader)

    @torch.no_grad()
    def accuracy(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(214)
    proto, mix = 1.1 * torch.randn(15, 12), torch.randn(12, 32) / 3
    general = DataLoader(TensorDataset(*bark(1800, proto[:10], mix)), batch_size=60, shuffle=True)
    special = DataLoader(TensorDataset(*bark(500, proto[10:], mix)), batch_size=25, shuffle=True)
    xv, yv = bark(600, proto[10:], mix)

    model = BarkNet(10)
    runner = Runner(model, torch.optim.AdamW(model.parameters(), lr=2e-3))
    for e in range(4):
        print(f"general {e} loss {runner.epoch(general):.4f}")

    model.requires_grad_(False)
    model.head = nn.Linear(64, 5)
    runner.opt = torch.optim.AdamW(model.head.parameters(), lr=3e-3)
    schedule = {3: (model.high, 8e-4), 6: (model.low, 3e-4)}
    for e in range(10):
        if e in schedule:
            block, lr = schedule[e]
            block.requires_grad_(True)
            runner.opt.add_param_group({"params": block.parameters(), "lr": lr})
        loss = runner.epoch(special)
        groups = len(runner.opt.param_groups)
        print(f"special {e} loss {loss:.4f} val acc {runner.accuracy(xv, yv):.3f} ({groups} group{'s' * (groups > 1)})")


if __name__ == "__main__":
    main()
