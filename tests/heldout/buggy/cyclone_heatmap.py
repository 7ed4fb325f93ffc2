"""Locate cyclone centres on pressure maps: CenterNet-style heatmap with a focal loss."""
import math

import torch
import torch.nn as nn

SIZE = 16


def maps(n, g):
    yy, xx = torch.meshgrid(torch.arange(SIZE).float(), torch.arange(SIZE).float(), indexing="ij")
    cy, cx = torch.randint(2, SIZE - 2, (2, n), generator=g)
    d2 = (yy - cy.view(-1, 1, 1)) ** 2 + (xx - cx.view(-1, 1, 1)) ** 2
    img = -2.0 * torch.exp(-d2 / 8) + 0.5 * torch.randn(n, SIZE, SIZE, generator=g)
    fy, fx = torch.randint(0, SIZE, (2, n), generator=g)
    ridge = torch.exp(-((yy - fy.view(-1, 1, 1)) ** 2) / 6) + torch.exp(-((xx - fx.view(-1, 1, 1)) ** 2) / 6)
    heat = torch.exp(-d2 / 2)
    return (img + ridge).unsqueeze(1) / 0.9, heat.unsqueeze(1), torch.stack([cy, cx], 1)


class CentreNet(nn.Module):
    def __init__(self, c=16, prior=0.02):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, c, 5, padding=2), nn.ReLU(),
                                  nn.Conv2d(c, c, 5, padding=2), nn.ReLU(),
                                  nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(c, 1, 1)
        self.set_prior(prior)

    def set_prior(self, prior):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.constant_(m.bias, -math.log((1 - prior) / prior))

    def forward(self, x):
        return self.head(self.body(x))


def focal(logits, heat):
    p = logits.sigmoid().clamp(1e-4, 1 - 1e-4)
    pos = (heat == 1).float()
    pos_term = pos * (1 - p) ** 2 * p.log()
    neg_term = (1 - pos) * (1 - heat) ** 4 * p ** 2 * (1 - p).log()
    return -(pos_term + neg_term).sum() / pos.sum().clamp(min=1)


def locate(logits):
    flat = logits.flatten(1).argmax(1)
    return torch.stack([flat // SIZE, flat % SIZE], 1)


def main(epochs=8):
    torch.set_num_threads(1)
    torch.manual_seed(47)
    g = torch.Generator().manual_seed(47)
    x, heat, _ = maps(700, g)
    xv, hv, cv = maps(150, g)
    net = CentreNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(20):
            loss = focal(net(x[idx]), heat[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        net.eval()
        with torch.no_grad():
            out = net(xv)
            hit = ((locate(out) - cv).abs().amax(1) <= 1).float().mean().item()
        print(f"epoch {epoch} focal {tot / len(x):.4f} val focal {focal(out, hv):.4f} located within 1 px {hit:.3f}")


if __name__ == "__main__":
    main()
