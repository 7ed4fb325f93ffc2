import torch
from torch import nn
from torch.nn import functional as F


class Cursor:
    """Endless shuffled mini-batches over tensors held in memory."""

    def __init__(self, tensors, size):
        self.tensors = tensors
        self.size = size
        self.reset()

    def reset(self):
        self.order = torch.randperm(len(self.tensors[0]))
        self.pos = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.pos + self.size > len(self.order):
            self.reset()
        rows = self.order[self.pos:self.pos + self.size]
        self.pos += self.size
        return tuple(t[rows] for t in self.tensors)


def doughs(n, centres):
    kind = torch.randint(0, len(centres), (n,))
    warp = torch.randn(n, centres.shape[1])
    return torch.tanh(centres[kind] + 1.1 * warp), kind


class DoughNet(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.l1 = nn.Linear(d, 64)
        self.l2 = nn.Linear(64, 64)
        self.l3 = nn.Linear(64, k)

    def forward(self, x):
        return self.l3(F.relu(self.l2(F.relu(self.l1(x)))))


def holdout(net, x, y):
    net.eval()
    with torch.no_grad():
        z = net(x)
    net.train()
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(40)
    centres = torch.randn(6, 16)
    x, y = doughs(2560, centres)
    xv, yv = doughs(500, centres)
    net = DoughNet(16, 6)
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    feed = Cursor((x, y), 64)
    for epoch in range(10):
        total = 0.0
        for _ in range(40):
            bx, by = next(feed)
            loss = F.cross_entropy(net(bx), by)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.item()
        vl, va = holdout(net, xv, yv)
        print(f"{epoch:2d} | loss {total / 40:.4f} | holdout loss {vl:.4f} acc {va:.3f}")
