"""Few-shot plankton classifier. Stages 1-2 are shared with the deployed 20-class model, so they stay frozen."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class StageNet(nn.Module):
    def __init__(self, n_classes, frozen_stages=0):
        super().__init__()
        self.frozen_stages = frozen_stages
        self.stage1 = nn.Sequential(nn.Linear(40, 64), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Linear(64, 48), nn.ReLU())
        self.stage3 = nn.Sequential(nn.Linear(48, 32), nn.ReLU())
        self.head = nn.Linear(32, n_classes)
        self._freeze_stages()

    def _freeze_stages(self):
        for i in range(1, self.frozen_stages + 1):
            stage = getattr(self, f"stage{i}")
            stage.eval()
            stage.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self._freeze_stages()
        return self

    def forward(self, x):
        return self.head(self.stage3(self.stage2(self.stage1(x))))


def specimens(n, protos, g):
    y = torch.randint(0, len(protos), (n,), generator=g)
    return protos[y] + 1.2 * torch.randn(n, 40, generator=g), y


def run_epoch(model, opt, x, y, g, bs):
    total = 0.0
    for idx in torch.randperm(len(x), generator=g).split(bs):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


@torch.no_grad()
def snapshot_accuracy(model, x, y, top=None):
    """Accuracy of a copy in eval mode; with `top`, of that model's stage 3 and head on the shared stages."""
    snap = copy.deepcopy(model).eval()
    if top is not None:
        snap.stage3, snap.head = top.stage3, top.head
    return (snap(x).argmax(1) == y).float().mean().item()


def main():
    torch.set_num_threads(1)
    torch.manual_seed(702)
    g = torch.Generator().manual_seed(702)
    protos = torch.randn(26, 9, generator=g) @ torch.randn(9, 40, generator=g) * 0.4
    base = StageNet(20)
    opt = torch.optim.Adam(base.parameters(), lr=2e-3)
    x, y = specimens(3000, protos[:20], g)
    for e in range(5):
        print(f"base epoch {e} loss {run_epoch(base, opt, x, y, g, 60):.4f}")

    model = StageNet(6, frozen_stages=2)
    weights = {k: v for k, v in base.state_dict().items() if not k.startswith("head")}
    model.load_state_dict(weights, strict=False)
    opt = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=5e-3)
    x, y = specimens(120, protos[20:], g)
    xv, yv = specimens(600, protos[20:], g)
    xd, yd = specimens(600, protos[:20], g)
    for e in range(12):
        loss = run_epoch(model, opt, x, y, g, 10)
        print(f"few-shot epoch {e:2d} loss {loss:.4f} val acc {snapshot_accuracy(model, xv, yv):.3f} "
              f"deployed 20-class acc {snapshot_accuracy(model, xd, yd, top=base):.3f}")


if __name__ == "__main__":
    main()
