"""Owl call classifier: denoising pre-training, probe, then full fine-tuning."""
import torch
import torch.nn as nn
import torch.nn.functional as F

D, CODE, SPECIES = 40, 10, 8


class OwlNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(D, 48), nn.ReLU(), nn.Linear(48, CODE))
        self.decoder = nn.Sequential(nn.Linear(CODE, 48), nn.ReLU(), nn.Linear(48, D))
        self.head = nn.Linear(CODE, SPECIES)

    def reconstruct(self, x):
        return self.decoder(self.encoder(x))

    def forward(self, x):
        return self.head(self.encoder(x))


def spectra(n, g, loud, quiet):
    y = torch.randint(0, SPECIES, (n,), generator=g)
    x = torch.randn(n, 8, generator=g) @ loud + quiet[y] + 0.3 * torch.randn(n, D, generator=g)
    return x / 2.0, y


def epoch(model, opt, x, g, loss_of):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x), generator=g).split(50):
        loss = loss_of(idx)
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
    torch.manual_seed(19)
    g = torch.Generator().manual_seed(19)
    loud, quiet = 0.65 * torch.randn(8, D, generator=g), 0.6 * torch.randn(SPECIES, D, generator=g)
    x, y = spectra(1500, g, loud, quiet)
    xv, yv = spectra(500, g, loud, quiet)
    model = OwlNet()

    opt = torch.optim.Adam([*model.encoder.parameters(), *model.decoder.parameters()], lr=2e-3)
    for e in range(4):
        mse = epoch(model, opt, x, g,
                    lambda i: F.mse_loss(model.reconstruct(x[i] + 0.2 * torch.randn(len(i), D, generator=g)), x[i]))
        print(f"[denoise] {e} mse {mse:.4f}")

    ce = lambda i: F.cross_entropy(model(x[i]), y[i])
    model.encoder.requires_grad_(False)
    opt = torch.optim.Adam(model.head.parameters(), lr=5e-3)
    for e in range(3):
        print(f"[probe] {e} loss {epoch(model, opt, x, g, ce):.4f} val acc {accuracy(model, xv, yv):.3f}")

    opt = torch.optim.Adam([{"params": model.encoder.parameters(), "lr": 2e-3},
                            {"params": model.head.parameters()}], lr=3e-3)
    for e in range(8):
        print(f"[finetune all] {e} loss {epoch(model, opt, x, g, ce):.4f} val acc {accuracy(model, xv, yv):.3f}")


if __name__ == "__main__":
    main()
