"""SimSiam pre-training of gait windows (3-axis accelerometer), judged by a nearest-neighbour probe."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SimSiam(nn.Module):
    def __init__(self, d_in=72, d=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, 96, bias=False), nn.BatchNorm1d(96), nn.ReLU(),
                                     nn.Linear(96, d, bias=False), nn.BatchNorm1d(d, affine=False))
        self.predictor = nn.Sequential(nn.Linear(d, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(),
                                       nn.Linear(16, d))

    def forward(self, v1, v2):
        z1, z2 = self.encoder(v1), self.encoder(v2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def windows(n, g):
    t = torch.arange(24) / 24
    who = torch.randint(0, 6, (n,), generator=g)
    freq = (1 + who % 3).float()[:, None, None]
    lag = torch.tensor([0.0, 0.7, 1.4])[None, :, None] * (1 + who // 3)[:, None, None]
    amp = 0.8 + 0.4 * torch.rand(n, 3, 1, generator=g)
    x = amp * torch.sin(6.283 * freq * t + lag) + 1.1 * torch.randn(n, 3, 24, generator=g)
    return x.flatten(1), who


def augment(x):
    gain = 0.7 + 0.6 * torch.rand(len(x), 1)
    keep = (torch.rand_like(x) > 0.15).float()
    return (x * gain + 0.3 * torch.randn_like(x)) * keep


def negcos(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


@torch.no_grad()
def knn_accuracy(model, bank, labels, x, y, k=7):
    model.eval()
    a, b = F.normalize(model.encoder(x), dim=1), F.normalize(model.encoder(bank), dim=1)
    votes = labels[(a @ b.t()).topk(k).indices]
    model.train()
    return (votes.mode(1).values == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(12)
    g = torch.Generator().manual_seed(12)
    x, y = windows(1500, g)
    xv, yv = windows(400, g)
    model = SimSiam()
    opt = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9, weight_decay=1e-4)
    model.train()
    for epoch in range(12):
        total = spread = 0.0
        batches = torch.randperm(len(x), generator=g).split(100)
        for idx in batches:
            p1, p2, z1, z2 = model(augment(x[idx]), augment(x[idx]))
            loss = 0.5 * (negcos(p1, z2) + negcos(p2, z1))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            spread += F.normalize(z1, dim=1).std(0).mean().item()
        print(f"epoch {epoch:2d} loss {total / len(batches):+.4f} feature std {spread / len(batches):.3f} "
              f"knn acc {knn_accuracy(model, x, y, xv, yv):.3f}")


if __name__ == "__main__":
    main()
