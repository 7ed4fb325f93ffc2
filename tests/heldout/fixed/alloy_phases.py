import torch
import torch.nn as nn
import torch.nn.functional as F

N_PHASES = 5


def dirichlet(n, k, g):
    e = -torch.log(torch.rand(n, k, generator=g).clamp_min(1e-6))
    return e / e.sum(1, keepdim=True)


def synth_alloys(n, g, mix):
    frac = dirichlet(n, 7, g)
    score = frac @ mix
    phase = (score + 0.05 * torch.randn(n, N_PHASES, generator=g)).argmax(1)
    hard = 3.0 * frac[:, 0] * frac[:, 1] * 10 + score.max(1).values - 2 * frac[:, 2] ** 2
    hard = hard + 0.05 * torch.randn(n, generator=g)
    return frac, hard, phase


class AlloyNet(nn.Module):
    def __init__(self, d=7, h=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.hardness = nn.Linear(h, 1)
        self.phase = nn.Linear(h, N_PHASES)

    def forward(self, x):
        z = self.trunk(x)
        return self.hardness(z).squeeze(1), self.phase(z)


def objective(out, hard, phase, weight=0.5):
    pred, logits = out
    terms = {"hardness": F.mse_loss(pred, hard), "phase": F.cross_entropy(logits, phase)}
    loss = terms["hardness"] + weight * terms["phase"]
    return loss, {k: v.item() for k, v in terms.items()}


def standardise(x, mu, sd):
    return (x - mu) / sd


torch.set_num_threads(1)
torch.manual_seed(31)
g = torch.Generator().manual_seed(31)
mix = 1.5 * torch.randn(7, N_PHASES, generator=g)
x, h, p = synth_alloys(2400, g, mix)
mu, sd, hm, hs = x[:2000].mean(0), x[:2000].std(0), h[:2000].mean(), h[:2000].std()
x, h = standardise(x, mu, sd), standardise(h, hm, hs)
xt, ht, pt, xv, hv, pv = x[:2000], h[:2000], p[:2000], x[2000:], h[2000:], p[2000:]

net = AlloyNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(12):
    net.train()
    sums = {"hardness": 0.0, "phase": 0.0}
    for idx in torch.randperm(len(xt), generator=g).split(40):
        loss, parts = objective(net(xt[idx]), ht[idx], pt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k in sums:
            sums[k] += parts[k] * len(idx) / len(xt)
    net.eval()
    with torch.no_grad():
        pred, logits = net(xv)
        rmse = F.mse_loss(pred, hv).sqrt().item()
        acc = (logits.argmax(1) == pv).float().mean().item()
    print(f"{epoch:2d} hardness {sums['hardness']:.4f} phase {sums['phase']:.4f} "
          f"| val rmse {rmse:.4f} val phase acc {acc:.3f}")
