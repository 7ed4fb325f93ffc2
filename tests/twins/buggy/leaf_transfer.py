"""Leaf-disease head on top of a feature extractor that was fitted on plant species."""
import torch
from torch import nn
from torch.nn import functional as F


def make_backbone(d_in, d_out):
    return nn.Sequential(nn.Linear(d_in, 80), nn.LayerNorm(80), nn.GELU(), nn.Linear(80, d_out), nn.GELU())


class SpeciesNet(nn.Module):
    def __init__(self, d_in, n_species, d=32):
        super().__init__()
        self.backbone = make_backbone(d_in, d)
        self.head = nn.Linear(d, n_species)

    def forward(self, x):
        return self.head(self.backbone(x))


class DiseaseNet(nn.Module):
    def __init__(self, backbone, n_classes, d=32):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, n_classes))
        for p in self.parameters():
            p.requires_grad = False
        self.prior = nn.Parameter(torch.zeros(n_classes))

    def forward(self, x):
        return self.head(self.backbone(x)) + self.prior


def samples(n, centers):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + 1.1 * torch.randn(n, centers.shape[1]), y


def fit_epoch(model, optimizer, x, y, bs):
    model.train()
    acc = []
    for idx in torch.randperm(len(x)).split(bs):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        acc.append(loss.item())
    return sum(acc) / len(acc)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(-1) == y).float().mean().item()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(73)
    basis = torch.randn(8, 40) * 0.45
    centers = torch.randn(15, 8) @ basis
    xs, ys = samples(2400, centers[:10])
    xd, yd = samples(900, centers[10:])
    xv, yv = samples(500, centers[10:])

    species = SpeciesNet(40, 10)
    opt = torch.optim.AdamW(species.parameters(), lr=2e-3)
    for e in range(5):
        print(f"species  epoch {e}  loss {fit_epoch(species, opt, xs, ys, 60):.4f}")

    disease = DiseaseNet(species.backbone, 5)
    opt = torch.optim.AdamW([p for p in disease.parameters() if p.requires_grad], lr=3e-3)
    for e in range(10):
        loss = fit_epoch(disease, opt, xd, yd, 30)
        print(f"disease  epoch {e}  loss {loss:.4f}  val acc {accuracy(disease, xv, yv):.3f}")
