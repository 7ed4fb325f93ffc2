"""Self-supervised lichen features are stored by one job and reused by the species classifier."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

BANDS, SPECIES = 36, 6


def towers():
    return nn.Sequential(nn.Linear(BANDS, 64), nn.ReLU(), nn.Linear(64, 24), nn.ReLU())


class PretextModel(nn.Module):
    """Predicts the clean spectrum from a masked one."""

    def __init__(self):
        super().__init__()
        self.encoder = towers()
        self.recon = nn.Linear(24, BANDS)

    def forward(self, x):
        return self.recon(self.encoder(x))


class SpeciesModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = towers()
        self.head = nn.Linear(24, SPECIES)

    def forward(self, x):
        return self.head(self.backbone(x))


def spectra(n, g, basis, proto):
    y = torch.randint(0, SPECIES, (n,), generator=g)
    x = (proto[y] + 0.55 * torch.randn(n, 5, generator=g)) @ basis + 1.4 * torch.randn(n, BANDS, generator=g)
    return x / 2.4, y


def pretrain(path, x, g, epochs=6):
    net = PretextModel()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for e in range(epochs):
        net.train()
        tot = 0.0
        for idx in torch.randperm(len(x), generator=g).split(100):
            keep = (torch.rand(len(idx), BANDS, generator=g) > 0.4).float()
            loss = F.mse_loss(net(x[idx] * keep / 0.6), x[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        print(f"pretext {e} mse {tot / len(x):.4f}")
    torch.save(net.state_dict(), path)


def build_classifier(path):
    model = SpeciesModel()
    state = {k: v for k, v in torch.load(path).items() if "recon" not in k}
    model.load_state_dict(state, strict=False)
    return model


def main():
    torch.set_num_threads(1)
    torch.manual_seed(90)
    g = torch.Generator().manual_seed(90)
    basis, proto = torch.randn(5, BANDS, generator=g), torch.randn(SPECIES, 5, generator=g)
    unlabelled, _ = spectra(4000, g, basis, proto)
    xt, yt = spectra(90, g, basis, proto)
    xv, yv = spectra(800, g, basis, proto)
    with tempfile.TemporaryDirectory() as tmp:
        ckpt = os.path.join(tmp, "lichen_ssl.pt")
        pretrain(ckpt, unlabelled, g)
        model = build_classifier(ckpt)
    opt = torch.optim.AdamW([{"params": model.backbone.parameters(), "lr": 1e-4},
                             {"params": model.head.parameters(), "lr": 1e-2}], weight_decay=1e-2)
    for e in range(15):
        model.train()
        tot = 0.0
        for idx in torch.randperm(len(xt), generator=g).split(15):
            loss = F.cross_entropy(model(xt[idx]), yt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean().item()
        print(f"species {e:2d} loss {tot / len(xt):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
