"""VQ-VAE on small texture patches: straight-through codes, codebook kept as a buffer and moved by EMA."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, k, d, decay=0.95):
        super().__init__()
        self.decay = decay
        self.register_buffer("codes", torch.randn(k, d) * 0.5)
        self.register_buffer("count", torch.ones(k))
        self.register_buffer("total", self.codes.clone())

    def forward(self, z):
        with torch.no_grad():
            idx = torch.cdist(z, self.codes).argmin(1)
            if self.training:
                hot = F.one_hot(idx, len(self.codes)).float()
                self.count.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                self.total.mul_(self.decay).add_(hot.t() @ z, alpha=1 - self.decay)
                self.codes.copy_(self.total / self.count.clamp_min(1e-3)[:, None])
                unused = self.count < 0.2
                if unused.any():
                    pick = torch.randint(0, len(z), (int(unused.sum()),))
                    self.codes[unused] = z[pick]
                    self.total[unused], self.count[unused] = z[pick], 1.0
        q = self.codes[idx]
        commit = F.mse_loss(z, q)
        return z + (q - z).detach(), commit, idx


class VQVAE(nn.Module):
    def __init__(self, d=36, k=24, code=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, code))
        self.book = Codebook(k, code)
        self.dec = nn.Sequential(nn.Linear(code, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, x):
        q, commit, idx = self.book(self.enc(x))
        return self.dec(q), commit, idx


def patches(n, kinds, g):
    k = torch.randint(0, len(kinds), (n,), generator=g)
    return kinds[k] + 0.25 * torch.randn(n, 36, generator=g)


def main(epochs=10, steps=50):
    torch.set_num_threads(1)
    torch.manual_seed(209)
    g = torch.Generator().manual_seed(209)
    kinds = torch.randn(12, 36, generator=g)
    val = patches(500, kinds, g)
    net = VQVAE()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        net.train()
        s_rec = s_com = 0.0
        for _ in range(steps):
            x = patches(64, kinds, g)
            rec, commit, _ = net(x)
            loss = F.mse_loss(rec, x) + 0.25 * commit
            opt.zero_grad()
            loss.backward()
            opt.step()
            s_rec, s_com = s_rec + (loss - 0.25 * commit).item() / steps, s_com + commit.item() / steps
        net.eval()
        with torch.no_grad():
            rec, _, idx = net(val)
            v = F.mse_loss(rec, val).item()
        print(f"epoch {epoch} recon {s_rec:.4f} commit {s_com:.4f} | val recon {v:.4f} codes used {len(idx.unique())}")


if __name__ == "__main__":
    main()
