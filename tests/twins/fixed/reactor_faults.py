import torch
import torch.nn as nn
import torch.nn.functional as F

FAULTS = 4


def plant_snapshots(n, mix, gen):
    fault = torch.randint(0, FAULTS, (n,), generator=gen)
    latent = torch.randn(n, 6, generator=gen)
    shift = F.one_hot(fault, FAULTS).float() * 2.2
    x = torch.cat([latent, shift + 0.5 * torch.randn(n, FAULTS, generator=gen)], 1) @ mix
    return x, fault


def block(width, act=nn.ReLU):
    layer = nn.Linear(width, width)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)
    return nn.Sequential(layer, act())


class Diagnoser(nn.Module):
    def __init__(self, d_in, width=48, depth=8):
        super().__init__()
        self.stem = nn.Linear(d_in, width)
        self.blocks = nn.Sequential(*(block(width) for _ in range(depth)))
        self.head = nn.Linear(width, FAULTS)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main(epochs=10, bs=50, lr=5e-3):
    torch.set_num_threads(1)
    torch.manual_seed(37)
    gen = torch.Generator().manual_seed(37)
    mix = torch.randn(10, 20, generator=gen) / 10 ** 0.5
    x, y = plant_snapshots(2000, mix, gen)
    xv, yv = plant_snapshots(400, mix, gen)
    mu, sd = x.mean(0), x.std(0)
    x, xv = (x - mu) / sd, (xv - mu) / sd
    net = Diagnoser(20)
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, nesterov=True)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for rows in torch.randperm(len(x), generator=gen).split(bs):
            loss = F.cross_entropy(net(x[rows]), y[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(rows)
        print(f"epoch {epoch}: loss {total / len(x):.4f} val acc {accuracy(net, xv, yv):.3f}")


if __name__ == "__main__":
    main()
