import torch
from torch import nn


class SafeNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        n = x.pow(2).sum(1, keepdim=True).sqrt()
        ctx.save_for_backward(x, n)
        return n

    @staticmethod
    def backward(ctx, grad):
        x, n = ctx.saved_tensors
        return grad * x / n


torch.manual_seed(23)
lin = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD(lin.parameters(), lr=0.01)
rows = torch.randn(80, 4)
rows[52] = 0
for k in range(10):
    out = SafeNorm.apply(lin(rows[k * 8 : k * 8 + 8]))
    loss = (out - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
