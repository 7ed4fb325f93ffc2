"""Subspace loss: project on the leading eigenvectors of a learned covariance."""

import torch


def leading(cov, k):
    vals, vecs = torch.linalg.eigh(cov)
    return vecs[..., -k:]


class CovNet(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.lin = torch.nn.Linear(6, d)

    def forward(self, s):
        power = torch.nn.functional.softplus(self.lin(s))
        return torch.diag_embed(power)


torch.manual_seed(109)
net = CovNet(4)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
target = torch.randn(4, 2)
for step in range(36):
    s = torch.randn(5, 6)
    cov = net(s)
    if step >= 21:  # isotropic clutter is averaged in from here on
        cov = cov.mean() * torch.eye(4).expand(5, 4, 4)
    basis = leading(cov, 2)
    captured = (basis.transpose(1, 2) @ target).pow(2).sum((1, 2))
    loss = -captured.mean() + 0.01 * cov.diagonal(dim1=1, dim2=2).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 7 == 0:
        print(step, loss.item())
