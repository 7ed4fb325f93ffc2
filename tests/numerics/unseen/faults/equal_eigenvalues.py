import torch
from torch import nn

torch.manual_seed(24)
emb = nn.Linear(6, 3)
opt = torch.optim.Adam(emb.parameters(), 1e-3)


def spectrum_loss(z):
    cov = z.t() @ z / len(z)
    cov = cov
    vals, vecs = torch.linalg.eigh(cov)
    return (vecs[:, -1] @ z.t()).pow(2).mean() - vals.log1p().sum()


for step in range(20):
    x = torch.randn(12, 6)
    z = emb(x)
    if step == 13:
        z = z * 0
    loss = spectrum_loss(z)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
