"""Transfer in two phases: (1) new head on a frozen trunk, (2) everything at a small learning rate."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def trunk():
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten())


class Scan(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.trunk, self.head = trunk(), nn.Linear(144, n_out)

    def forward(self, x):
        return self.head(self.trunk(x))


def images(n, g, clinical):
    """Blob scans: generic pre-training asks for the quadrant, the clinical set asks for small/large/double."""
    ax = torch.arange(12.0)
    quad = torch.randint(0, 4, (n,), generator=g)
    kind = torch.randint(0, 3, (n,), generator=g)
    cy = 3 + 6 * (quad // 2).float() + torch.randn(n, generator=g)
    cx = 3 + 6 * (quad % 2).float() + torch.randn(n, generator=g)
    size = torch.tensor([1.0, 2.2, 1.0])[kind]

    def spot(y, x):
        d = (ax[None, :, None] - y[:, None, None]) ** 2 + (ax[None, None, :] - x[:, None, None]) ** 2
        return torch.exp(-d / (2 * size[:, None, None] ** 2))

    img = spot(cy, cx) + (kind == 2).float()[:, None, None] * spot(11 - cy, 11 - cx)
    img = img.unsqueeze(1) + 0.15 * torch.randn(n, 1, 12, 12, generator=g)
    return img, (kind if clinical else quad)


def fit(model, opt, x, y, epochs, g, tag, val=None):
    for e in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(40):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        msg = f"{tag} epoch {e} loss {tot / len(x):.4f}"
        if val is not None:
            with torch.no_grad():
                msg += f" val acc {(model(val[0]).argmax(1) == val[1]).float().mean().item():.3f}"
        print(msg)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(21)
    g = torch.Generator().manual_seed(21)
    base = Scan(4)
    x, y = images(1200, g, clinical=False)
    fit(base, torch.optim.Adam(base.parameters(), lr=5e-3), x, y, 4, g, "generic ")

    x, y = images(480, g, clinical=True)
    val = images(400, g, clinical=True)
    model = Scan(3)
    model.trunk.load_state_dict(base.trunk.state_dict())
    for p in model.trunk.parameters():
        p.requires_grad = False
    fit(model, torch.optim.Adam(model.head.parameters(), lr=1e-2), x, y, 6, g, "head    ", val)

    for p in model.trunk.parameters():
        p.requires_grad = True
    opt = torch.optim.Adam([{"params": model.trunk.parameters(), "lr": 1e-3},
                            {"params": model.head.parameters(), "lr": 2e-3}])
    fit(model, opt, x, y, 8, g, "finetune", val)


if __name__ == "__main__":
    main()
