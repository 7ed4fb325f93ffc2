"""Sparse autoencoder on stored activations; the encoder starts as the transpose of the decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

D, FEATURES = 24, 64


class SAE(nn.Module):
    def __init__(self):
        super().__init__()
        dec = F.normalize(torch.randn(D, FEATURES), dim=0)
        self.w_dec = nn.Parameter(dec)
        self.w_enc = nn.Parameter(dec.clone().t())
        self.b_enc = nn.Parameter(torch.zeros(FEATURES, 1))
        self.b_dec = nn.Parameter(torch.zeros(D))

    def forward(self, x):
        codes = torch.relu(self.w_enc @ (x - self.b_dec).t() + self.b_enc).t()
        return codes @ self.w_dec.t() + self.b_dec, codes


def adam_kernel(p, g, m, v, t, lr, b1=0.9, b2=0.999, eps=1e-8):
    """Flat in-place Adam; all arguments are dense one-dimensional views."""
    m.mul_(b1).add_(g, alpha=1 - b1)
    v.mul_(b2).addcmul_(g, g, value=1 - b2)
    p.addcdiv_(m / (1 - b1 ** t), (v / (1 - b2 ** t)).sqrt_().add_(eps), value=-lr)


class FlatAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if not st:
                    st["t"], st["m"], st["v"] = 0, torch.zeros(p.numel()), torch.zeros(p.numel())
                st["t"] += 1
                dense = p.data.contiguous()
                adam_kernel(dense.view(-1), p.grad.contiguous().view(-1), st["m"], st["v"], st["t"], group["lr"])


def activations(n, dictionary, g):
    on = (torch.rand(n, dictionary.shape[0], generator=g) < 0.06).float()
    return (on * (0.5 + torch.rand(on.shape, generator=g))) @ dictionary + 0.01 * torch.randn(n, D, generator=g)


def main(epochs=12, bs=64, l1=0.05):
    torch.set_num_threads(1)
    torch.manual_seed(237)
    g = torch.Generator().manual_seed(237)
    dictionary = F.normalize(torch.randn(48, D, generator=g), dim=1)
    x, xv = activations(3200, dictionary, g), activations(500, dictionary, g)
    sae = SAE()
    opt = FlatAdam(sae.parameters(), lr=4e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x), generator=g).split(bs):
            recon, codes = sae(x[idx])
            loss = (recon - x[idx]).pow(2).sum(1).mean() + l1 * codes.abs().sum(1).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            recon, codes = sae(xv)
            fvu = ((recon - xv).pow(2).sum() / (xv - xv.mean(0)).pow(2).sum()).item()
            live = (codes > 1e-3).float().sum(1).mean().item()
        print(f"epoch {epoch:2d} loss {loss.item():.4f} unexplained variance {fvu:.4f} active codes {live:.1f}")


if __name__ == "__main__":
    main()
