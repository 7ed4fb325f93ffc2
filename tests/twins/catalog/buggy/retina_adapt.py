"""Adapt a retina grader to a new clinic: new five-grade head, only batch-norm is re-tuned in the body."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class RetinaNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(
            nn.Linear(32, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Linear(64, 48, bias=False), nn.BatchNorm1d(48), nn.ReLU())
        self.head = nn.Linear(48, n_out)

    def forward(self, x):
        return self.head(self.features(x))


def scans(n, protos, g, gain=1.0):
    y = torch.randint(0, len(protos), (n,), generator=g)
    return gain * (protos[y] + 1.0 * torch.randn(n, 32, generator=g)), y


def freeze_for_adaptation(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            continue
        for p in module.parameters(recurse=False):
            p.requires_grad = False


def epoch(model, opt, x, y, g, bs=40):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x), generator=g).split(bs):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(849)
    g = torch.Generator().manual_seed(849)
    protos = torch.randn(25, 12, generator=g) @ torch.randn(12, 32, generator=g) * 0.35
    source = RetinaNet(20)
    opt = torch.optim.Adam(source.parameters(), lr=3e-3)
    x, y = scans(2000, protos[:20], g)
    for e in range(5):
        print(f"source epoch {e} loss {epoch(source, opt, x, y, g):.4f}")

    model = RetinaNet(5)
    model.features.load_state_dict(source.features.state_dict())
    freeze_for_adaptation(model)
    opt = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=2e-3)
    x, y = scans(800, protos[20:], g, gain=1.5)
    xv, yv = scans(500, protos[20:], g, gain=1.5)
    for e in range(8):
        loss = epoch(model, opt, x, y, g)
        print(f"clinic epoch {e} loss {loss:.4f} val acc {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()
