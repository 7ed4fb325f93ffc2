"""Freight delay model; every parameter is stepped by its own optimizer as soon as its gradient is ready."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def shipments(n, g):
    carrier = torch.randint(0, 9, (n,), generator=g)
    feats = torch.randn(n, 6, generator=g)
    bias = torch.linspace(-1, 1, 9)[carrier]
    delay = bias + feats[:, 0] * feats[:, 1] + torch.relu(feats[:, 2]) - 0.4 * feats[:, 3]
    return carrier, feats, (delay - 0.4 + 0.1 * torch.randn(n, generator=g)) / 1.5


class DelayNet(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.carrier = nn.Embedding(9, 8)
        self.body = nn.Sequential(nn.Linear(14, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.out = nn.Linear(h, 1)

    def forward(self, carrier, feats):
        return self.out(self.body(torch.cat([self.carrier(carrier), feats], 1))).squeeze(1)


def attach_optimizers(model, lr):
    owned = {p: torch.optim.Adam([p], lr=lr) for p in model.parameters()}

    def on_grad(p):
        owned[p].step()
        owned[p].zero_grad()

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(on_grad)
    return owned


def set_lr(owned, lr):
    for opt in owned.values():
        for group in opt.param_groups:
            group["lr"] = lr


def main(epochs=10, bs=50, lr=3e-3):
    torch.set_num_threads(1)
    torch.manual_seed(213)
    g = torch.Generator().manual_seed(213)
    train, val = shipments(2000, g), shipments(500, g)
    model = DelayNet()
    owned = attach_optimizers(model, lr)
    for epoch in range(epochs):
        set_lr(owned, lr * 0.8 ** epoch)
        model.train()
        tot = 0.0
        for idx in torch.randperm(2000, generator=g).split(bs):
            c, f, y = (t[idx] for t in train)
            loss = F.smooth_l1_loss(model(c, f), y)
            loss.backward()
            tot += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            v = F.smooth_l1_loss(model(*val[:2]), val[2]).item()
        print(f"epoch {epoch} train {tot / 2000:.4f} val {v:.4f}")


if __name__ == "__main__":
    main()
